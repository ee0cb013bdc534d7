import type { Path } from '../config/problem.js';
import type { Checker } from './checker.js';
import { JoinedLevel, joined, StrictLevel } from './level.js';
import { readLimits } from './limits.js';
import { readRateLimit } from './rate-limit.js';
import type { NamedRule } from './replaces.js';
import type { Level, Node, Rule } from './rules.js';

/** A descriptor as it stands in a file. */
export interface Setting {
  readonly setting: unknown;
  readonly path: Path;
  readonly checker: Checker;
  readonly isStrict: boolean;
  /** Of the level above: see `Node`. */
  readonly statsKey: string | undefined;
  /** Takes the rules of the domain that have names. */
  readonly named: NamedRule[];
}

const FIELDS: readonly string[] = [
  'key',
  'value',
  'rate_limit',
  'descriptors',
  'shadow_mode',
  'quota_mode',
  'detailed_metric',
  'value_to_metric',
  'share_threshold',
  'metadata',
];

/** Fields that mode strict alone has. */
const STRICT = { limits: 'limits are for mode: strict in the envoy section; here only rate_limit is known' };

/** Deeper trees are refused: no request has so many entries. */
const DEPTH_MAX = 64;

/** One level of the tree, with all below it. */
export function readNodes(settings: readonly Setting[], mode: 'compatible' | 'strict', depth = 0): Level {
  const nodes: Node[] = [];
  const seen = new Set<string>();
  for (const setting of settings) {
    if (depth >= DEPTH_MAX) {
      setting.checker.report(setting.path, `nested deeper than ${DEPTH_MAX} levels`);
      break;
    }
    const node = readNode(setting, mode, depth);
    if (node === undefined) continue;
    const name = mode === 'strict' ? JSON.stringify([node.key, node.value]) : node.label;
    if (seen.has(name)) {
      const hint = 'keep one of them, or nest what differs below it';
      setting.checker.report(setting.path, `${JSON.stringify(node.label)} is described twice on this level`, hint);
    }
    seen.add(name);
    nodes.push(node);
  }
  return mode === 'strict' ? new StrictLevel(nodes) : new JoinedLevel(nodes);
}

function readNode(given: Setting, mode: 'compatible' | 'strict', depth: number): Node | undefined {
  const { setting, path, checker, isStrict } = given;
  const fields = isStrict
    ? checker.fields(setting, path, [...FIELDS, ...Object.keys(STRICT)])
    : checker.fields(setting, path, FIELDS, STRICT);
  if (fields === undefined) return undefined;
  const at = (name: string): Path => [...path, name];
  const flag = (name: string): boolean => checker.flag(fields[name], at(name));
  const key = checker.text(fields.key, at('key'));
  const value = checker.text(fields.value, at('value'));
  if (key === '') checker.report(at('key'), 'missing', 'the key of an entry of the descriptor');
  if (isStrict && key.includes('*')) checker.report(at('key'), 'a key has no wildcards', 'put the * in the value');
  const isShared = flag('share_threshold');
  if (isShared && !value.includes('*'))
    checker.report(at('share_threshold'), 'only values of a wildcard can share a limit', 'end the value with *');
  const label = joined(key, value);
  const isValueInMetric = flag('value_to_metric');
  const isFixed = given.statsKey !== undefined && !isShared && !isValueInMetric;
  const statsKey = isFixed ? `${given.statsKey}.${label}` : undefined;
  const below = checker.list(fields.descriptors, at('descriptors'));
  const children = below.map((child, i) => ({ ...given, setting: child, path: [...at('descriptors'), i], statsKey }));
  const isDetailed = flag('detailed_metric');
  return {
    label,
    key,
    value,
    rule: readRule(fields, given),
    children: readNodes(children, mode, depth + 1),
    statsKey: isDetailed ? undefined : statsKey,
    isDetailed,
    isValueInMetric,
    isShared,
  };
}

function readRule(
  fields: Readonly<Record<string, unknown>>,
  { path, checker, isStrict, named }: Setting,
): Rule | undefined {
  const { rate_limit: rateLimit, limits: given, metadata } = fields;
  const isShadow = checker.flag(fields.shadow_mode, [...path, 'shadow_mode']);
  const isQuota = checker.flag(fields.quota_mode, [...path, 'quota_mode']);
  const details = { isShadow, isQuota, metadata: metadata as Rule['metadata'] };
  const limits = isStrict ? readLimits(given, [...path, 'limits'], checker) : [];
  if (rateLimit === undefined || rateLimit === null) {
    const none = { rate: undefined, isUnlimited: false, name: '', replaces: [] };
    return limits.length === 0 ? undefined : { ...none, ...details, limits };
  }
  const read = readRateLimit(rateLimit, [...path, 'rate_limit'], checker, isStrict && limits.length === 0);
  if (read === undefined) return undefined;
  const { name, replaces } = read;
  if (name !== '') named.push({ name, replaces, path: [...path, 'rate_limit', 'replaces'], checker });
  return { ...read, ...details, limits };
}
