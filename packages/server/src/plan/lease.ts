/** What is known of leases of the busiest subject. */
export interface LeaseDemand {
  /** How far all processes may go beyond the limit: a percentage of it, or units. */
  readonly maxOvershoot: { readonly percent: number } | { readonly units: number };
  /** Units of the limit; of several limits the smallest. */
  readonly limit: number;
  readonly processes: number;
  /** Decisions per second of the subject, all processes together, where known. */
  readonly hottestPerSecond: number | undefined;
}

/** What leases do for a subject that is below its limit. */
export interface LeasePlan {
  /** Units of one process: those it may hold, and those it uses while a lease lasts. 0: there are no leases. */
  readonly units: number;
  /** Calls to Redis: one fetches the units of many decisions. */
  readonly callsPerDecision: number;
  /** Why there are none, and what would do. */
  readonly why: string | undefined;
}

/** As `docs/leases.md` says: fewer are not worth a lease. */
const UNITS_MIN = 2;
/** The default of `lease.lasts`. */
const LASTS_S = 0.1;

/** Follows from the rules of leases; nothing in it was measured. */
export function leaseFor(demand: LeaseDemand): LeasePlan {
  const { maxOvershoot, limit, processes, hottestPerSecond = Number.POSITIVE_INFINITY } = demand;
  const all = 'units' in maxOvershoot ? maxOvershoot.units : Math.floor((limit * maxOvershoot.percent) / 100);
  const part = Math.floor(Math.min(all, limit) / processes);
  if (part < UNITS_MIN) return none(tooSmall(demand));
  const used = Math.floor((hottestPerSecond / processes) * LASTS_S);
  if (used < UNITS_MIN) {
    return none(`a process is asked for it less than ${UNITS_MIN} times while a lease lasts (${LASTS_S * 1000} ms)`);
  }
  const units = Math.min(part, used);
  return { units, callsPerDecision: 1 / units, why: undefined };
}

const none = (why: string): LeasePlan => ({ units: 0, callsPerDecision: 1, why });

/** The least that all processes together need, and where it would come from. */
function tooSmall({ maxOvershoot, limit, processes }: LeaseDemand): string {
  const needed = UNITS_MIN * processes;
  const each = `less than ${UNITS_MIN} units for each of ${processes} processes`;
  if ('units' in maxOvershoot)
    return `${each}; ${needed} units${limit < needed ? ' of as large a limit' : ''} would do`;
  // To a tenth, upwards: it is to be written into a file.
  const percent = Math.ceil((needed * 1000) / limit) / 10;
  const orMore = percent <= 100 ? `, or ${percent}%,` : '';
  return `${each}; a limit of ${Math.ceil((needed * 100) / maxOvershoot.percent)}${orMore} would do`;
}
