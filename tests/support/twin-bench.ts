import type { Limit } from 'comporta';
import type { Redis } from 'ioredis';
import { argumentsAt } from '../../packages/comporta/src/algorithms/algorithm.js';
import { compose, type Operation, type Script } from '../../packages/comporta/src/algorithms/compose.js';
import { UNITS_MAX } from '../../packages/comporta/src/algorithms/ranges.js';
import { type Action, refundTtlMs, type StoreReply } from '../../packages/comporta/src/stores/store.js';
import { type Step, stepClock } from './arbitraries.js';
import { isAllowed, MemoryBench } from './memory-bench.js';
import { askNotes, askState, type StateReader } from './twin-state.js';

/** One step on both sides: what was asked of Redis, and what memory answered. */
interface Expected {
  readonly what: string;
  readonly reply: readonly number[] | number;
}

/** What was admitted and can be given back or settled. */
interface Charged {
  readonly id: string;
  readonly atUs: number;
  readonly cost: number;
  /** Made by `reserve`. */
  readonly isNoted: boolean;
  readonly holdMs: number;
}

/** What Redis stores at the end of a history. */
interface Stored {
  readonly limits: readonly ReturnType<StateReader>[];
  readonly notes: readonly string[];
}

/** Names a step that compares times to live. */
const PTTL = 'PTTL';

/** The pipeline takes a moment of real time, in which a key's remaining time shrinks. */
const isClose = (onRedisMs: number, inMemoryMs: number): boolean =>
  onRedisMs <= inMemoryMs && onRedisMs > inMemoryMs - 250;

export type Mutate = (script: Script) => Script;
const unchanged: Mutate = (script) => script;

/**
 * Plays a history on the memory store and, in one pipeline, on a real server; returns the first
 * difference in a reply, in stored state or in time to live. Every other script is sent with the arguments of
 * `others`: those of processes of other settings, that decide alike.
 */
export async function difference(
  redis: Redis,
  limits: readonly Limit[],
  steps: readonly Step[],
  mutate: Mutate = unchanged,
  others: readonly Limit[] = limits,
): Promise<string | undefined> {
  const run = new Run(redis, limits, mutate, others);
  const expected = steps.flatMap((step, i) => run.step(step, i));
  const replies = await run.send();
  for (const [i, { what, reply }] of expected.entries()) {
    const got = replies[i];
    if (what === PTTL) {
      if (!isClose(got as number, reply as number)) return `a key lives ${got} ms on Redis, ${reply} ms in memory`;
      continue;
    }
    if (JSON.stringify(got) !== JSON.stringify(reply))
      return `${what}: memory ${JSON.stringify(reply)}, Redis ${JSON.stringify(got)}`;
  }
  return run.stateDifference();
}

let runs = 0;
const loadedScripts: WeakMap<Redis, Set<string>> = new WeakMap();

class Run {
  readonly #redis: Redis;
  readonly #limits: readonly Limit[];
  readonly #mutate: Mutate;
  readonly #bench: MemoryBench;
  readonly #keys: readonly string[];
  readonly #charges: Charged[] = [];
  readonly #pipeline: ReturnType<Redis['pipeline']>;
  /** Which of the pipeline's replies take part in the comparison. */
  readonly #compared: boolean[] = [];
  readonly #scripts: Map<string, string> = new Map();
  readonly #others: readonly Limit[];
  /** Decisions that may have a mark of having been given back. */
  readonly #marked: Set<string> = new Set();
  #stored: () => Stored = () => ({ limits: [], notes: [] });
  #taken = 0;

  constructor(redis: Redis, limits: readonly Limit[], mutate: Mutate, others: readonly Limit[]) {
    this.#redis = redis;
    this.#limits = limits;
    this.#others = others;
    this.#mutate = mutate;
    this.#bench = new MemoryBench(limits);
    const tag = `{t${process.pid}-${runs++}}`;
    this.#keys = limits.map((_, i) => `${tag}${i}`);
    this.#pipeline = redis.pipeline();
  }

  step(step: Step, i: number): Expected[] {
    this.#bench.nowUs = stepClock(this.#bench.nowUs, step, this.#limits[0]?.windowMs ?? 1);
    this.#expire();
    const what = `step ${i} ${JSON.stringify(step)} at ${this.#bench.nowUs}`;
    const charge = step.operation === 'refund' ? this.#charges.at(-1 - step.back) : undefined;
    if (charge !== undefined) return [{ what, reply: this.#refund(charge, step.back) }];
    if (step.operation === 'force') return [{ what, reply: this.#force(step) }];
    const action = this.#actionOf(step);
    if (action !== undefined) return [{ what, reply: this.#act(action) }];
    if (step.operation === 'peek' || step.cost === 0) return [{ what, reply: this.#decide('peek', step.cost) }];
    const reply = this.#decide('consume', step.cost);
    return [{ what, reply }, ...(reply.every((number, j) => j % 4 !== 2 || number === 0) ? this.#timesToLive() : [])];
  }

  /** After a charge every key was just written, so both sides must give it the same time to live. */
  #timesToLive(): Expected[] {
    return this.#keys.map((key, i) => {
      this.#pipeline.pttl(key);
      this.#compared.push(true);
      return { what: PTTL, reply: this.#bench.ttlMs('s', i) ?? Number.NaN };
    });
  }

  /** The server's own clock knows nothing of the history's: keys that ended by the latter go by hand. */
  #expire(): void {
    this.#limits.forEach((_, i) => {
      if (this.#bench.state('s', i) === undefined) this.#delete(this.#keys[i] as string);
    });
    for (const id of this.#marked) if (!this.#bench.wasRefunded(id)) this.#delete(`${this.#keys[0]}:refund:${id}`);
    if (this.#bench.reserved('s') === undefined) this.#delete(this.#pending);
  }

  #delete(key: string): void {
    this.#pipeline.del(key);
    this.#compared.push(false);
  }

  #marker(id: string): string {
    this.#marked.add(id);
    return `${this.#keys[0]}:refund:${id}`;
  }

  get #pending(): string {
    return `${this.#keys[0]}:reserved`;
  }

  /** `undefined` for plain decisions, and where there is nothing to settle. */
  #actionOf({ operation, cost, back }: Step): Action | undefined {
    const subject = 's';
    // Times that histories meet: they move by whole windows and a little.
    const holdMs = [1, 20, this.#limits[0]?.windowMs ?? 1, 60_000][back] as number;
    if (operation === 'settle') {
      const charged = this.#charges.at(-1 - back);
      if (charged === undefined) return undefined;
      return { ...charged, kind: 'settle', subject, cost, reserved: charged.cost };
    }
    if (operation === 'release' || operation === 'renew') {
      const charged = this.#charges.at(-1 - back);
      return charged && { kind: operation, subject, cost: 0, id: charged.id };
    }
    if (cost === 0) return undefined;
    if (operation === 'take')
      return { kind: 'take', subject, cost: Math.min(cost, UNITS_MAX), id: `t${this.#taken++}` };
    if (operation === 'reserve') return { kind: 'reserve', subject, cost, id: String(this.#charges.length), holdMs };
    if (operation === 'charge' || operation === 'reward') return { kind: operation, subject, cost };
    return undefined;
  }

  #act(action: Action): number[] {
    const head = [String(this.#bench.nowUs), String(action.cost)];
    if (action.kind === 'reserve') {
      const more = [action.id, String(action.holdMs), this.#keptMs];
      this.#send('reserve', [...this.#keys, this.#pending], [...head, ...more], [action.id]);
    } else if (action.kind === 'settle') {
      const { id, reserved, atUs, holdMs, isNoted } = action;
      const note = isNoted ? `${id}:${reserved}:${atUs}` : '';
      const more = [reserved, atUs, atUs + holdMs * 1000, Math.max(Number(this.#keptMs), holdMs), note].map(String);
      this.#send('settle', [...this.#keys, this.#marker(id), this.#pending], [...head, ...more], [id]);
    } else {
      this.#send(action.kind, this.#keys, head, 'id' in action ? [action.id] : []);
    }
    const { atUs, word, numbers } = this.#bench.policy.act(action);
    if (action.kind === 'reserve' && word === 1) this.#charges.push({ ...action, atUs, isNoted: true });
    return [atUs, word, ...numbers];
  }

  get #keptMs(): string {
    return String(refundTtlMs(this.#bench.plan));
  }

  #decide(operation: 'consume' | 'peek', cost: number): number[] {
    const id = String(this.#charges.length);
    this.#send(operation, this.#keys, [String(this.#bench.nowUs), String(cost)], [id]);
    const reply: StoreReply =
      operation === 'peek'
        ? this.#bench.policy.peek('s', cost)
        : this.#bench.policy.consume('s', cost, undefined, undefined, id);
    if (operation === 'consume' && isAllowed(reply))
      this.#charges.push({ id, atUs: reply.atUs, cost, isNoted: false, holdMs: 60_000 });
    return [reply.atUs, ...reply.numbers];
  }

  #force({ cost, back }: Step): number {
    const amounts = this.#limits.map((_, i) => (cost + i * back) % 1000);
    this.#send('force', this.#keys, [String(this.#bench.nowUs), '0'], amounts.map(String));
    return this.#bench.policy.force('s', amounts);
  }

  #refund({ id, atUs, cost }: { id: string; atUs: number; cost: number }, part: number): number {
    const amount = Math.max(1, cost - part);
    this.#send(
      'refund',
      [...this.#keys, this.#marker(id)],
      [String(this.#bench.nowUs), String(amount), String(atUs), '60000'],
      [amount < cost ? '' : id],
    );
    return this.#bench.policy.refund({ subject: 's', decisionId: id, atUs, amount, isPart: amount < cost });
  }

  #send(operation: Operation, keys: readonly string[], head: readonly string[], tail: readonly string[] = []): void {
    const { text, sha } = this.#mutate(compose(operation, this.#limits));
    this.#scripts.set(sha, text);
    this.#compared.push(true);
    this.#pipeline.evalsha(
      sha,
      keys.length,
      ...keys,
      ...head,
      ...(this.#compared.length % 2 === 0 ? this.#limits : this.#others).flatMap((limit) =>
        argumentsAt(limit, Math.floor(this.#bench.nowUs / 1000)).map(String),
      ),
      ...tail,
    );
  }

  async send(): Promise<unknown[]> {
    const loaded = loadedScripts.get(this.#redis) ?? new Set<string>();
    loadedScripts.set(this.#redis, loaded);
    for (const [sha, text] of this.#scripts) {
      if (!loaded.has(sha)) await this.#redis.script('LOAD', text);
      loaded.add(sha);
    }
    const readers = this.#limits.map((limit, i) => askState(this.#pipeline, this.#keys[i] as string, limit));
    const readNotes = askNotes(this.#pipeline, this.#pending);
    const results = (await this.#pipeline.exec()) ?? [];
    const states = results.splice(this.#compared.length);
    // Read only where all replies were alike: what a fault stores may not be readable.
    this.#stored = () => ({ limits: readers.map((read) => read(states)), notes: readNotes(states) });
    return results
      .filter((_, i) => this.#compared[i])
      .map(([error, reply]) => (error === null ? reply : error.message));
  }

  /** Compares what is stored, and that each key lives as long as the algorithm says. */
  stateDifference(): string | undefined {
    const { limits, notes: noted } = this.#stored();
    for (const [i, stored] of limits.entries()) {
      const memory = flatten(this.#bench.state('s', i));
      if (stored === undefined || memory === undefined) {
        // A key may be gone on one side only once it is the same as none.
        if ((stored ?? memory) !== undefined && !this.#isFresh(i))
          return `limit ${i}: memory ${memory}, Redis ${stored}`;
        continue;
      }
      if (memory.join() !== stored.join()) return `limit ${i}: memory stores ${memory}, Redis ${stored}`;
    }
    const notes = noted.join();
    const expected = (this.#bench.reserved('s') ?? []).map(({ id, cost, atUs }) => `${id}:${cost}:${atUs}`).join();
    return notes === expected ? undefined : `reserved: memory notes ${expected}, Redis ${notes}`;
  }

  #isFresh(i: number): boolean {
    return this.#bench.policy.peek('s', 0).numbers[i * 4 + 2] === 0;
  }
}

/** Numbers of a memory state in the order in which Lua packs them. */
function flatten(state: unknown): (number | string)[] | undefined {
  if (state === undefined) return undefined;
  const { entries, held } = state as {
    entries?: { atUs: number; total: number; cost: number }[];
    held?: { holder: string; untilMs: number }[];
  };
  if (held !== undefined)
    return held.length === 0 ? undefined : held.flatMap(({ holder, untilMs }) => [holder, untilMs]);
  if (entries !== undefined)
    return entries.length === 0 ? undefined : entries.flatMap(({ atUs, total, cost }) => [atUs, total, cost]);
  return Object.values(state as Record<string, number>);
}
