const DAY_MS = 86_400_000;

/** A time zone's clock, by the rules that the platform knows. */
export interface Zone {
  /** What a clock of the zone shows, as the ms since the epoch at which a clock in UTC shows the same. */
  localMs(atMs: number): number;
  /** The first instant at which a clock of the zone shows this time or, where it is skipped, a later one. */
  firstAt(localMs: number): number;
  /** First instant after `fromMs` and up to `toMs` with another offset from UTC; none: `toMs`. */
  nextChange(fromMs: number, toMs: number): number;
}

const zones: Map<string, Zone> = new Map();

/** The zone of an IANA name; `undefined` when the platform does not know it. One object per name. */
export function zoneOf(name: string): Zone | undefined {
  const known = zones.get(name) ?? makeZone(name);
  if (known !== undefined) zones.set(name, known);
  return known;
}

function makeZone(name: string): Zone | undefined {
  // Some platforms also take offsets such as +03:00, and no name at all means the zone of the machine.
  if (!/^[A-Za-z]/.test(name)) return undefined;
  try {
    return zoneBy(formatOf(name));
  } catch {
    return undefined;
  }
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const [two, year] = ['2-digit', 'numeric'] as const;
  return new Intl.DateTimeFormat('en-US-u-ca-gregory-nu-latn', {
    timeZone,
    hourCycle: 'h23',
    year,
    month: two,
    day: two,
    hour: two,
    minute: two,
    second: two,
  });
}

/** Offsets are whole seconds; no zone changes its clocks twice in two days. */
function zoneBy(format: Intl.DateTimeFormat): Zone {
  const offsetMs = (atMs: number): number => {
    const second = Math.floor(atMs / 1000) * 1000;
    const [month, day, year, hour, minute, second60] = (format.format(second).match(/\d+/g) ?? []).map(Number) as [
      number,
      number,
      number,
      number,
      number,
      number,
    ];
    return Date.UTC(year, month - 1, day, hour, minute, second60) - second;
  };
  const nextChange = (fromMs: number, toMs: number): number => {
    const offset = offsetMs(fromMs);
    let [same, other] = [fromMs, toMs];
    while (other - same > 1) {
      const middle = Math.floor((same + other) / 2);
      if (offsetMs(middle) === offset) same = middle;
      else other = middle;
    }
    return other;
  };
  return {
    localMs: (atMs) => atMs + offsetMs(atMs),
    nextChange,
    firstAt(localMs) {
      const [fromMs, toMs] = [localMs - DAY_MS, localMs + DAY_MS];
      const [before, after] = [offsetMs(fromMs), offsetMs(toMs)];
      if (before === after) return localMs - before;
      const change = nextChange(fromMs, toMs);
      return localMs - before < change ? localMs - before : Math.max(change, localMs - after);
    },
  };
}
