import type { Limit } from '../algorithms/algorithm.js';
import { type Duration, msOf } from '../core/duration.js';
import { ComportaError, show } from '../core/errors.js';
import type { RefusalMemory, Sent } from '../resilience/question.js';
import { shortSubject } from '../stores/keyspace.js';
import type { Plan, Store, StoreReply } from '../stores/store.js';

/** Then a hot refused subject asks fifty times a second, and nothing that cannot be foreseen comes later than that. */
const LONGEST_MS = 20;
const LONGEST_MAX_MS = 60_000;
const SUBJECTS_MAX = 10_000;
const DROPS_MAX = 1000;

/** How long a refusal is held at most, in ms; throws `ERR_OPTION` for what cannot be meant. */
export function checkHold(hold: Duration | false = LONGEST_MS): number | undefined {
  if (hold === false) return undefined;
  const ms = msOf(hold);
  if (ms !== undefined && ms >= 1 && ms <= LONGEST_MAX_MS) return ms;
  const expected = 'false, or whole milliseconds from 1 ms to 60 s such as "20ms"';
  throw new ComportaError('ERR_OPTION', `hold: expected ${expected}, got ${show(hold)}`, 'hold');
}

/** What the store said of a subject, as long as nothing but time changes it. */
interface Held {
  /** Whose limits it is about. */
  readonly by: LimitsHold;
  readonly cost: number;
  readonly reply: StoreReply;
  readonly heardUs: number;
  /** From then on a limit may have more room, or the time is over. */
  readonly untilUs: number;
}

/** What a store said of the subjects of one policy that have no room, by their short names. Pure but for its state. */
export class Hold {
  readonly #held: Map<string, Held> = new Map();
  /** When, in turns, subjects were dropped last: what was asked before says nothing of them any more. */
  readonly #drops: Map<string, number> = new Map();
  /** The last turn that is not remembered any more. */
  #lostTurn = 0;
  #turn = 0;

  /** The number of changes so far. */
  get turn(): number {
    return this.#turn;
  }

  /** Subjects that are remembered, those whose time is over among them. */
  get size(): number {
    return this.#held.size;
  }

  get(name: string, nowUs: number): Held | undefined {
    const held = this.#held.get(name);
    if (held === undefined || (nowUs < held.untilUs && nowUs >= held.heardUs)) return held;
    this.#held.delete(name);
    return undefined;
  }

  /** Puts the answer to what was asked at a turn in the place of older ones; `undefined`: the subject has room. */
  put(name: string, held: Held | undefined, turn: number, atUs: number, nowUs: number): void {
    const known = this.get(name, nowUs);
    // Answers may overtake each other on their way.
    if (known !== undefined && known.reply.atUs > atUs) return;
    this.#held.delete(name);
    if (held === undefined || turn < (this.#drops.get(name) ?? this.#lostTurn)) return;
    for (const [oldest, { untilUs }] of this.#held) {
      if (untilUs > nowUs && this.#held.size < SUBJECTS_MAX) break;
      this.#held.delete(oldest);
    }
    this.#held.set(name, held);
  }

  drop(name: string): void {
    this.#held.delete(name);
    this.#drops.delete(name);
    this.#drops.set(name, ++this.#turn);
    for (const [oldest, turn] of this.#drops) {
      if (this.#drops.size <= DROPS_MAX) break;
      this.#drops.delete(oldest);
      this.#lostTurn = turn;
    }
  }
}

const holds: WeakMap<Store, Map<string, Hold>> = new WeakMap();

/** What is given back by one limiter of a policy makes room for the others of this process as well. */
export function holdOf(store: Store, policy: string): Hold {
  const ofPolicies = holds.get(store) ?? new Map<string, Hold>();
  holds.set(store, ofPolicies);
  const hold = ofPolicies.get(policy) ?? new Hold();
  ofPolicies.set(policy, hold);
  return hold;
}

/** What there is to know of a limit. */
interface Rule {
  readonly limit: number;
  /** It changes with whole milliseconds of the deciding clock; others at any time within their last one. */
  readonly isWholeMs: boolean;
}

interface HoldOptions {
  readonly longestMs: number;
  /** Must never step back. */
  readonly nowUs: () => number;
}

/** A {@link Hold} for the decisions by some limits. */
export class LimitsHold implements RefusalMemory {
  readonly #hold: Hold;
  readonly #rules: readonly Rule[];
  readonly #longestUs: number;
  readonly #nowUs: () => number;

  constructor(hold: Hold, limits: Plan['limits'], { longestMs, nowUs }: HoldOptions) {
    this.#hold = hold;
    this.#rules = limits.map((limit) => ({ limit: limit.limit, isWholeMs: stepUs(limit) >= 1000 }));
    // A place may be freed at any time, by anybody.
    this.#longestUs = limits.some(({ algorithm }) => algorithm.holds) ? 0 : longestMs * 1000;
    this.#nowUs = nowUs;
  }

  answer(subject: string, cost: number): StoreReply | undefined {
    if (this.#hold.size === 0) return undefined;
    const nowUs = this.#nowUs();
    const held = this.#hold.get(shortSubject(subject), nowUs);
    return held?.by === this ? replyAt(nowUs, held, this.#rules, cost) : undefined;
  }

  sent(): Sent {
    return { atUs: this.#nowUs(), turn: this.#hold.turn };
  }

  heard(subject: string, cost: number, sent: Sent, reply: StoreReply): void {
    const sureUs = Math.min(sureForUs(reply, this.#rules, cost), this.#longestUs);
    if (sureUs <= 0 && this.#hold.size === 0) return;
    // The store answered later than it was asked: so the end is never too late, and no wait that is told too short.
    const [untilUs, heardUs] = [sent.atUs + sureUs, this.#nowUs()];
    const held = untilUs > heardUs ? { by: this, cost, reply, heardUs, untilUs } : undefined;
    this.#hold.put(shortSubject(subject), held, sent.turn, reply.atUs, heardUs);
  }

  drop(subject: string): void {
    this.#hold.drop(shortSubject(subject));
  }
}

function stepUs({ algorithm, args }: Limit): number {
  return algorithm.stepUs?.(args) ?? (algorithm.clock === 'ms' ? 1000 : 1);
}

/** How long no limit gets more room after a reply that leaves too little for its cost; 0 when it leaves enough. */
function sureForUs({ atUs, numbers, blockedMs, degraded }: StoreReply, rules: readonly Rule[], cost: number): number {
  if (degraded !== undefined) return 0;
  if (blockedMs !== undefined) return lastUs(blockedMs);
  let isRefused = false;
  let sureUs = Number.POSITIVE_INFINITY;
  for (let i = 0; i * 4 < numbers.length; i++) {
    const nextMs = numbers[i * 4 + 3] as number;
    if (numbers[i * 4 + 1] !== 0 || (numbers[i * 4] as number) < cost) isRefused = true;
    if (nextMs > 0) sureUs = Math.min(sureUs, rules[i]?.isWholeMs ? nextMs * 1000 - (atUs % 1000) : lastUs(nextMs));
  }
  return isRefused ? sureUs : 0;
}

/** A time that was rounded up to milliseconds may be over this many µs later, and not before. */
const lastUs = (ms: number): number => (ms - 1) * 1000 + 1;

/** What the store would answer now; `undefined` where it may admit, and where a wait cannot be told exactly. */
function replyAt(nowUs: number, held: Held, rules: readonly Rule[], cost: number): StoreReply | undefined {
  const { atUs, numbers, blockedMs } = held.reply;
  const passedUs = nowUs - held.heardUs;
  if (blockedMs !== undefined) {
    return { atUs: atUs + passedUs, numbers, blockedMs: blockedMs - Math.floor(passedUs / 1000) };
  }
  const now: number[] = [];
  let isRefused = false;
  for (let i = 0; i < rules.length; i++) {
    const rule = rules[i] as Rule;
    const passedMs = Math.floor((rule.isWholeMs ? (atUs % 1000) + passedUs : passedUs) / 1000);
    const waitMs = waitOf(held, i, rule, cost);
    if (waitMs === undefined) return undefined;
    if (waitMs !== 0) isRefused = true;
    const resetMs = (numbers[i * 4 + 2] as number) - passedMs;
    const nextMs = (numbers[i * 4 + 3] as number) - passedMs;
    const leftMs = waitMs > 0 ? waitMs - passedMs : waitMs;
    now.push(numbers[i * 4] as number, leftMs, Math.max(0, resetMs), Math.max(0, nextMs));
  }
  return isRefused ? { atUs: atUs + passedUs, numbers: now } : undefined;
}

/** The wait of a cost at the time of the reply; `undefined` where the reply does not tell. */
function waitOf(
  { reply: { numbers }, cost: told }: Held,
  i: number,
  { limit }: Rule,
  cost: number,
): number | undefined {
  const remaining = numbers[i * 4] as number;
  if (cost > limit) return -1;
  if (cost <= remaining) return 0;
  if (cost === remaining + 1) return numbers[i * 4 + 3];
  // Of what was admitted the reply tells no wait.
  return (cost === told && numbers[i * 4 + 1]) || undefined;
}
