import type { Path } from '../config/problem.js';
import { shown } from '../config/shown.js';
import type { Checker } from './checker.js';
import type { NamedRate, Rule } from './rules.js';
import { LIMIT_MAX, UNITS, unitNamed } from './units.js';

const FIELDS: readonly string[] = ['requests_per_unit', 'unit', 'unlimited', 'name', 'replaces'];
const UINT32_MAX = 2 ** 32 - 1;

/** What `rate_limit` of a descriptor says; flags of the descriptor are added by its owner. */
export type RateLimit = Pick<Rule, 'rate' | 'isUnlimited' | 'name' | 'replaces'>;

export function readRateLimit(value: unknown, path: Path, checker: Checker, isStrict: boolean): RateLimit | undefined {
  const fields = checker.fields(value, path, FIELDS);
  if (fields === undefined) return undefined;
  const name = checker.text(fields.name, [...path, 'name']);
  const isUnlimited = checker.flag(fields.unlimited, [...path, 'unlimited']);
  const replaces = readReplaces(fields.replaces, [...path, 'replaces'], name, checker);
  if (!isUnlimited) return { rate: readRate(fields, name, path, checker, isStrict), isUnlimited, name, replaces };
  if (fields.unit !== undefined && fields.unit !== null)
    checker.report([...path, 'unit'], 'an unlimited rule has no unit', 'remove unit, or unlimited');
  return { rate: undefined, isUnlimited, name, replaces };
}

function readRate(
  fields: Readonly<Record<string, unknown>>,
  name: string,
  path: Path,
  checker: Checker,
  isStrict: boolean,
): NamedRate | undefined {
  const { requests_per_unit: requests = isStrict ? undefined : 0 } = fields;
  const most = isStrict ? LIMIT_MAX : UINT32_MAX;
  const isCount = Number.isSafeInteger(requests) && (requests as number) >= 0 && (requests as number) <= most;
  if (!isCount) {
    checker.report([...path, 'requests_per_unit'], `expected a whole number from 0 to ${most}, got ${shown(requests)}`);
  }
  const unit = unitNamed(fields.unit);
  if (unit === undefined) {
    const known = UNITS.map((name) => name.toLowerCase()).join(', ');
    checker.report([...path, 'unit'], `expected one of ${known}, got ${shown(fields.unit)}`);
  }
  return isCount && unit !== undefined ? { requestsPerUnit: requests as number, unit, name } : undefined;
}

function readReplaces(value: unknown, path: Path, own: string, checker: Checker): readonly string[] {
  return checker.list(value, path).flatMap((entry, i) => {
    const fields = checker.fields(entry, [...path, i], ['name']);
    if (fields === undefined) return [];
    const name = checker.text(fields.name, [...path, i, 'name']);
    if (name === '') checker.report([...path, i], 'missing: the name of the rule to replace');
    else if (name === own) checker.report([...path, i], 'a rule cannot replace itself');
    return [name];
  });
}
