import type { Ranking } from '../admin/hotspots.js';

type Hot = Ranking['subjects'][number];

/**
 * The rankings of several processes as that of one. Where one does not name a subject, the error grows by what it may
 * have seen.
 */
export function mergeRankings(parts: readonly Ranking[], count: number): Ranking {
  const tables = parts.map((part) => ({
    part,
    known: new Map(part.subjects.map((hot) => [keyOf(hot), hot])),
  }));
  const named = new Map(parts.flatMap(({ subjects }) => subjects.map((hot) => [keyOf(hot), hot])));
  const subjects = [...named].map(([key, { policy, item }]) => {
    const found = tables.map(({ part, known }) => {
      const unseen = part.unseenMax[policy] ?? 0;
      return known.get(key) ?? { count: unseen, error: unseen };
    });
    return { policy, item, count: sum(found.map((each) => each.count)), error: sum(found.map((each) => each.error)) };
  });
  subjects.sort((a, b) => b.count - a.count);
  return {
    subjects: subjects.slice(0, count),
    total: sum(parts.map(({ total }) => total)),
    sinceMs: Math.min(...parts.map(({ sinceMs }) => sinceMs)),
    nowMs: Math.max(...parts.map(({ nowMs }) => nowMs)),
    policies: [...new Set(parts.flatMap(({ policies }) => policies))],
    unseenMax: {},
  };
}

const keyOf = ({ policy, item }: Hot): string => JSON.stringify([policy, item]);
const sum = (numbers: readonly number[]): number => numbers.reduce((all, number) => all + number, 0);
