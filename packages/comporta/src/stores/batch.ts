import { nextTurn, steadyMs } from '../core/time.js';
import { type SharedCall, StoreError, type Waiter } from '../core/waiting.js';

/** How calls go to the store. */
export interface Carrier<Item, Reply> {
  /** Most items of one call. */
  readonly itemsMax: number;
  /** Sends one item at once. */
  one(item: Item, waiter: Waiter): Promise<Reply>;
  /** Sends several as one call: an outcome for each, in their order; rejects when all fail alike. */
  many(items: readonly Item[], waiter: Waiter): Promise<readonly (Reply | StoreError)[]>;
}

interface Entry<Item, Reply> {
  readonly item: Item;
  readonly waiter: Waiter;
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: unknown) => void;
}

/** Calls that may go together, one behind the other. */
interface Lane<Item, Reply> {
  readonly name: string;
  /** Calls that are not answered, and that somebody waits for. */
  calls: number;
  queue: Entry<Item, Reply>[];
  isDue: boolean;
}

/**
 * While so many calls of a lane are in flight the queue waits for an answer. So the busier a server is, the more go
 * together; and with four of them that wait is a small part of the way there and back.
 */
const CALLS_MAX = 4;

/** ... but only where answers take no more than this part of the time limit: far from a server all time is the way. */
const WAIT_PART = 0.1;
/** How much the last answer counts for how long answers take. */
const LAST_PART = 0.1;
const TIME_LIMIT_MS = 50;

/**
 * Sends what is asked while others are in flight together, in one call. Nothing waits for a timer: what is alone goes
 * at once; else it goes at the end of the turn, or when it fills a call, or, with many calls in flight, at the end of
 * the turn that brings an answer. Whoever is over by then is not sent, and a call that nobody waits for any more holds
 * nothing back.
 */
export class Batcher<Item, Reply> {
  readonly #carrier: Carrier<Item, Reply>;
  readonly #callsMax: number;
  readonly #lanes: Map<string, Lane<Item, Reply>> = new Map();
  readonly #nowMs: () => number;
  #inFlight = 0;
  /** The last call was of several items, so the next item will hardly be alone in its turn. */
  #areSeveral = false;
  /** How long the way there and back takes, by the calls of late; unknown before the first answer. */
  #tookMs: number | undefined;

  constructor(carrier: Carrier<Item, Reply>, callsMax: number = CALLS_MAX, nowMs: () => number = steadyMs) {
    this.#carrier = carrier;
    this.#callsMax = callsMax;
    this.#nowMs = nowMs;
  }

  ask(name: string, item: Item, waiter: Waiter): Promise<Reply> {
    const lane = this.#lanes.get(name) ?? this.#open(name);
    const isAlone = lane.calls === 0 && lane.queue.length === 0 && !this.#areSeveral;
    if (isAlone) return this.#sendOne(lane, item, waiter);
    waiter.isHeld = true;
    return new Promise((resolve, reject) => {
      lane.queue.push({ item, waiter, resolve, reject });
      if (lane.queue.length >= this.#carrier.itemsMax) this.#flush(lane);
      else this.#flushSoon(lane);
    });
  }

  #open(name: string): Lane<Item, Reply> {
    const lane: Lane<Item, Reply> = { name, calls: 0, queue: [], isDue: false };
    this.#lanes.set(name, lane);
    return lane;
  }

  #flushSoon(lane: Lane<Item, Reply>): void {
    if (lane.isDue || this.#mayWait(lane)) return;
    lane.isDue = true;
    void nextTurn().then(() => {
      lane.isDue = false;
      this.#flush(lane);
    });
  }

  /** Whether an answer will come soon, at which the queue goes. */
  #mayWait({ calls, queue }: Lane<Item, Reply>): boolean {
    if (calls < this.#callsMax) return false;
    const limitMs = queue[0]?.waiter.timeoutMs ?? TIME_LIMIT_MS;
    return this.#tookMs !== undefined && this.#tookMs <= limitMs * WAIT_PART;
  }

  /** What was not alone may have waited behind others, and can only show that the way is shorter. */
  #took(ms: number, isAlone: boolean): void {
    if (!isAlone && ms > (this.#tookMs ?? ms)) return;
    this.#tookMs = this.#tookMs === undefined ? ms : this.#tookMs + (ms - this.#tookMs) * LAST_PART;
  }

  #flush(lane: Lane<Item, Reply>): void {
    const entries = lane.queue.filter(isWanted);
    lane.queue = [];
    if (entries.length > 0) this.#areSeveral = entries.length > 1;
    const [first] = entries;
    for (const { waiter } of entries) waiter.isHeld = false;
    if (first === undefined) this.#closeIfIdle(lane);
    else if (entries.length > 1) this.#sendMany(lane, entries);
    else this.#sendOne(lane, first.item, first.waiter).then(first.resolve, first.reject);
  }

  #sendOne(lane: Lane<Item, Reply>, item: Item, waiter: Waiter): Promise<Reply> {
    const leave = this.#enter(lane);
    whenOver(waiter, leave);
    const reply = begin(() => this.#carrier.one(item, waiter));
    reply.then(leave, leave);
    return reply;
  }

  #sendMany(lane: Lane<Item, Reply>, entries: readonly Entry<Item, Reply>[]): void {
    const leave = this.#enter(lane);
    let timeoutMs = 0;
    for (const { waiter } of entries) timeoutMs = Math.max(timeoutMs, waiter.timeoutMs ?? 0);
    const all: Waiter = { isOver: false, ...(timeoutMs > 0 && { timeoutMs }) };
    let waiting = entries.length;
    const onOver = () => {
      waiting--;
      if (waiting > 0) return;
      all.isOver = true;
      leave();
    };
    const call: SharedCall = { hasFailed: false };
    for (const { waiter } of entries) {
      waiter.call = call;
      whenOver(waiter, onOver);
    }
    const items = entries.map(({ item }) => item);
    begin(() => this.#carrier.many(items, all)).then(
      (replies) => {
        leave();
        entries.forEach(({ resolve, reject }, i) => {
          const reply = replies[i] as Reply | StoreError;
          if (reply instanceof StoreError) reject(reply);
          else resolve(reply);
        });
      },
      (error) => {
        leave();
        for (const { reject } of entries) reject(error);
      },
    );
  }

  /** Counts what is sent in a lane, until what it returns is called first. */
  #enter(lane: Lane<Item, Reply>): () => void {
    const sinceMs = this.#nowMs();
    const isAlone = this.#inFlight === 0;
    let isIn = true;
    this.#inFlight++;
    lane.calls++;
    return () => {
      if (!isIn) return;
      isIn = false;
      this.#took(this.#nowMs() - sinceMs, isAlone);
      this.#inFlight--;
      lane.calls--;
      if (lane.queue.length > 0) this.#flushSoon(lane);
      else this.#closeIfIdle(lane);
    };
  }

  /** One may stay: where there is only one, each call that is alone would make it anew. */
  #closeIfIdle(lane: Lane<Item, Reply>): void {
    if (this.#lanes.size === 1) return;
    if (lane.calls + lane.queue.length === 0 && !lane.isDue) this.#lanes.delete(lane.name);
  }
}

/** Who waits in one lane may have come through another. */
function whenOver(waiter: Waiter, run: () => void): void {
  const before = waiter.onOver;
  waiter.onOver = before === undefined ? run : () => [before, run].forEach((each) => void each());
}

/** What a call throws at once is its answer too. */
function begin<T>(call: () => Promise<T>): Promise<T> {
  try {
    return call();
  } catch (error) {
    return Promise.reject(error);
  }
}

/** Somebody waits for it; else it ends here, and nothing was sent. */
function isWanted({ waiter, reject }: Entry<unknown, never>): boolean {
  if (!waiter.isOver) return true;
  reject(new StoreError('timeout', 'the time limit ended before the call was sent', { isUnsent: true }));
  return false;
}
