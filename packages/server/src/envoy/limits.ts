import type { Limit } from 'comporta';
import { describeIssue, valueAt } from '../config/issues.js';
import { knownFields } from '../config/known-fields.js';
import { limitSchema } from '../config/limits.js';
import type { Path } from '../config/problem.js';
import type { Checker } from './checker.js';

/** Limits with algorithms, as in `comporta.yaml`; all of them decide, and all or none are charged. */
export function readLimits(value: unknown, path: Path, checker: Checker): readonly Limit[] {
  return checker.list(value, path).flatMap((entry, i) => {
    const parsed = limitSchema.safeParse(entry);
    if (parsed.success) return [parsed.data];
    for (const issue of parsed.error.issues) {
      const keys = issue.code === 'unrecognized_keys' ? issue.keys : [];
      const at = [...path, i, ...(issue.path as Path), ...keys.slice(0, 1)];
      if (keys.length === 0) checker.report(at, describeIssue(issue, valueAt(entry, issue.path as Path)));
      else checker.report(at, 'unknown field', `known here: ${knownIn(issue.path as Path).join(', ')}`, 'key');
    }
    return [];
  });
}

/** A limit is written as in a policy. */
const knownIn = (path: Path): readonly string[] => knownFields(['policies', 0, 'limits', ...path]);
