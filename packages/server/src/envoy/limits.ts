import type { Limit } from 'comporta';
import { describeIssue, valueAt } from '../config/issues.js';
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
      checker.report(at, keys.length > 0 ? 'unknown field' : describeIssue(issue, valueAt(entry, issue.path as Path)));
    }
    return [];
  });
}
