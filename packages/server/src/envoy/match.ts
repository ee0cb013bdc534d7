import { joined } from './level.js';
import type { Ask } from './request.js';
import type { Domain, Entry, Node, Rate, Rule } from './rules.js';

/** What applies to one descriptor of a request. */
export interface Match {
  readonly rule: Rule;
  /** Entries that name the counter: the values of shared levels are their patterns. */
  readonly counted: readonly Entry[];
  /** Name for metrics: of the rule, with values of the request only where the file asks for them. */
  readonly statsKey: string;
}

/**
 * The rule that applies to a descriptor: the one at its very last entry. Nothing is inherited from levels above,
 * and a level that was chosen is never left for a sibling.
 */
export function matchOf({ name, root }: Domain, entries: readonly Entry[]): Match | undefined {
  const path: Node[] = [];
  let level = root;
  for (const entry of entries) {
    const node = level.find(entry);
    if (node === undefined) return undefined;
    path.push(node);
    level = node.children;
  }
  const leaf = path.at(-1);
  if (leaf?.rule === undefined) return undefined;
  if (leaf.statsKey !== undefined) return { rule: leaf.rule, counted: entries, statsKey: leaf.statsKey };
  const counted = entries.map((entry, i) => (path[i]?.isShared ? { ...entry, value: path[i].value } : entry));
  const parts = path.map((node, i) => statsPart(node, entries[i] as Entry, leaf.isDetailed));
  return { rule: leaf.rule, counted, statsKey: [name, ...parts].join('.') };
}

/** What applies to each descriptor of a request. */
export const matchesOf = (domain: Domain, asks: readonly Ask[]): readonly (Match | undefined)[] =>
  asks.map(({ entries, override }) =>
    override === undefined ? matchOf(domain, entries) : overrideOf(domain, entries, override),
  );

/** A limit that the request brings: it takes the place of the file's, of which it keeps only the counter. */
export function overrideOf({ name }: Domain, entries: readonly Entry[], rate: Rate): Match {
  const parts = entries.map(({ key, value }) => joined(key, value));
  return { rule: { ...PLAIN, rate: { ...rate, name: '' } }, counted: entries, statsKey: [name, ...parts].join('.') };
}

const PLAIN: Rule = {
  rate: undefined,
  limits: [],
  isUnlimited: false,
  name: '',
  replaces: [],
  isShadow: false,
  isQuota: false,
  metadata: undefined,
};

function statsPart(node: Node, { key, value }: Entry, isDetailed: boolean): string {
  if (node.isShared) return node.label;
  return isDetailed || node.isValueInMetric ? joined(key, value) : node.label;
}

const NONE_REPLACED: readonly boolean[] = [];

/** Which of the matches of one request give way to another of them, by name; in one pass, whatever their order. */
export function replacedIn(matches: readonly (Match | undefined)[]): readonly boolean[] {
  if (!matches.some((match) => match !== undefined && match.rule.replaces.length > 0)) return NONE_REPLACED;
  const replaced = new Set(matches.flatMap((match) => match?.rule.replaces ?? []));
  return matches.map((match) => match !== undefined && match.rule.name !== '' && replaced.has(match.rule.name));
}
