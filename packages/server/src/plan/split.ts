/** What is known of the busiest subject. */
export interface SplitDemand {
  /** Masters that there are at least. */
  readonly masters: number;
  /** Calls per second: of the subject, and of all others together. */
  readonly perSecond: number;
  readonly othersPerSecond: number;
  /** Those that one master has. */
  readonly onePerSecond: number;
  /** Units of the smallest limit, where known. */
  readonly limit: number | undefined;
  /** A place is held in one part, so there is no split. */
  readonly holdsPlaces: boolean;
}

/** How a subject is split so that no master has too much. */
export interface SplitPlan {
  /** 0: no split would do. */
  readonly parts: number;
  readonly masters: number;
  readonly why: string | undefined;
}

/** Nodes of the smallest cluster that can elect a new master. */
export const CLUSTER_MASTERS_MIN = 3;

const PARTS = [2, 4, 8, 16, 32, 64] as const;
const PARTS_MAX = 64;
/** Units that a part has at least of each limit. */
export const PART_LEAST = 16;

/** Into how many parts a subject is split that needs so many decisions per second of `onePerSecond`. */
export function partsFor(perSecond: number, onePerSecond: number): number {
  return PARTS.find((parts) => parts * onePerSecond >= perSecond) ?? PARTS_MAX;
}

/** The fewest masters, and then the fewest parts, with which the busiest master has no more than one carries. */
export function splitFor(demand: SplitDemand): SplitPlan {
  const { masters, perSecond, othersPerSecond, onePerSecond, limit = Number.POSITIVE_INFINITY } = demand;
  const none = (why: string): SplitPlan => ({ parts: 0, masters, why });
  if (demand.holdsPlaces) return none('a concurrency limit cannot be split');
  const most = Math.min(PARTS_MAX, Math.floor(limit / PART_LEAST));
  // Parts that are left over make one master busier than the others.
  const fits = (parts: number, on: number): boolean =>
    parts <= most && (Math.ceil(parts / on) / parts) * perSecond + othersPerSecond / on <= onePerSecond;
  const start = Math.max(CLUSTER_MASTERS_MIN, masters);
  for (let on = start; on <= Math.max(PARTS_MAX, start); on++) {
    const parts = PARTS.find((some) => fits(some, on));
    if (parts !== undefined) return { parts, masters: on, why: undefined };
  }
  const enough = perSecond <= PARTS_MAX * onePerSecond;
  return none(
    most < PARTS_MAX && enough
      ? `each part needs ${PART_LEAST} units of the limit of ${limit}`
      : `${PARTS_MAX} parts, the most there are, are not enough`,
  );
}
