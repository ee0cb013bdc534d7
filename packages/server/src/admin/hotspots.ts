import { createHash } from 'node:crypto';
import type { DecisionEvent } from 'comporta';
import { nowMs } from '../time.js';
import { type Counted, merged, SpaceSaving } from './space-saving.js';

/** What subjects are ranked by. */
export type RankedBy = 'requests' | 'refusals';

/** Subjects that are counted for each policy: one with more than 1 in 256 of its requests is always among them. */
const SUBJECTS_MAX = 256;
/** Further policies are not counted: the names of domains come from files of others. */
const POLICIES_MAX = 1000;
/** Counts are of this span and the one before, so that a subject which has calmed down leaves. */
const SPAN_MS = 60_000;
/** Longer subjects are kept as a hash: a client chooses them, and 256 of them must stay small. */
const SUBJECT_MAX_CHARS = 512;

type Span = Readonly<Record<RankedBy, SpaceSaving>>;

interface PolicyCounts {
  current: Span;
  previous: Span | undefined;
}

interface Hot extends Counted {
  readonly policy: string;
}

export interface Ranking {
  readonly subjects: readonly Hot[];
  /** All that was counted, these and others. */
  readonly total: number;
  /** When the counts began, in ms since 1970. */
  readonly sinceMs: number;
  readonly nowMs: number;
  /** Policies that are counted. */
  readonly policies: readonly string[];
  /** How often a subject of a policy may have been counted that is not among them; 0 where there is no number. */
  readonly unseenMax: Readonly<Record<string, number>>;
}

/** The hottest subjects of the last one to two minutes, in bounded memory whatever clients send. */
export class Hotspots {
  readonly #now: () => number;
  readonly #policies: Map<string, PolicyCounts> = new Map();
  #currentMs: number;
  #previousMs: number;

  constructor(now: () => number = nowMs) {
    this.#now = now;
    this.#currentMs = now();
    this.#previousMs = this.#currentMs;
  }

  /** Runs within every decision. */
  add({ policy, decision, shadow }: DecisionEvent): void {
    this.#turn();
    const counts = this.#of(policy);
    if (counts === undefined) return;
    const item = shortened(decision.subject);
    counts.current.requests.add(item);
    if (!decision.allowed && !shadow) counts.current.refusals.add(item);
  }

  /** The first of one policy, or of all. */
  ranking(by: RankedBy, count: number, policy?: string): Ranking {
    this.#turn();
    const chosen = [...this.#policies].filter(([name]) => policy === undefined || name === policy);
    let total = 0;
    const unseen = new Map<string, number>();
    const subjects = chosen.flatMap(([name, { current, previous }]) => {
      const sketches = [current[by], ...(previous === undefined ? [] : [previous[by]])];
      for (const sketch of sketches) total += sketch.total;
      unseen.set(
        name,
        sketches.reduce((all, sketch) => all + sketch.unseenMax, 0),
      );
      return merged(sketches).map((each) => ({ policy: name, ...each }));
    });
    subjects.sort((a, b) => b.count - a.count);
    const leftOut = subjects[count]?.count ?? 0;
    const unseenMax = [...unseen].map(([name, most]) => [name, Math.max(most, leftOut)] as const);
    return {
      subjects: subjects.slice(0, count),
      total,
      sinceMs: this.#previousMs,
      nowMs: this.#now(),
      policies: [...this.#policies.keys()],
      unseenMax: Object.fromEntries(unseenMax.filter(([, most]) => most > 0)),
    };
  }

  /** A new span where the current one is over; a clock that was set back starts one too. */
  #turn(): void {
    const now = this.#now();
    const passedMs = now - this.#currentMs;
    if (passedMs >= 0 && passedMs < SPAN_MS) return;
    const isNext = passedMs >= 0 && passedMs < 2 * SPAN_MS;
    for (const [name, counts] of this.#policies) {
      const isIdle = counts.current.requests.total === 0;
      if (!isNext || isIdle) this.#policies.delete(name);
      else Object.assign(counts, { previous: counts.current, current: emptySpan() });
    }
    this.#previousMs = isNext ? this.#currentMs : now;
    this.#currentMs = now;
  }

  #of(policy: string): PolicyCounts | undefined {
    const known = this.#policies.get(policy);
    if (known !== undefined || this.#policies.size >= POLICIES_MAX) return known;
    const made = { current: emptySpan(), previous: undefined };
    this.#policies.set(policy, made);
    return made;
  }
}

const emptySpan = (): Span => ({ requests: new SpaceSaving(SUBJECTS_MAX), refusals: new SpaceSaving(SUBJECTS_MAX) });

const shortened = (subject: string): string =>
  subject.length <= SUBJECT_MAX_CHARS ? subject : `sha256:${createHash('sha256').update(subject).digest('hex')}`;
