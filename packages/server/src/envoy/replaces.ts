import type { Path } from '../config/problem.js';
import type { Checker } from './checker.js';

/** A rule with a name, and which others it takes the place of. */
export interface NamedRule {
  readonly name: string;
  readonly replaces: readonly string[];
  readonly path: Path;
  readonly checker: Checker;
}

/** Rules that replace each other would both be without effect in a request that has both. */
export function reportCircles(rules: readonly NamedRule[]): void {
  const replacedBy = new Map<string, Set<string>>();
  for (const { name, replaces } of rules) replacedBy.set(name, new Set([...(replacedBy.get(name) ?? []), ...replaces]));
  for (const { name, path, checker } of rules) {
    if (!reaches(name, name, replacedBy)) continue;
    const message = `${JSON.stringify(name)} is replaced, in the end, by a rule that it replaces: neither would count`;
    checker.report(path, message, 'keep the direction that is meant');
  }
}

function reaches(from: string, to: string, edges: ReadonlyMap<string, ReadonlySet<string>>): boolean {
  const seen = new Set<string>();
  const waiting = [from];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    for (const next of edges.get(name) ?? []) {
      if (next === to) return true;
      if (!seen.has(next)) waiting.push(next);
      seen.add(next);
    }
  }
  return false;
}
