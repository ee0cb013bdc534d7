import type { Limit } from 'comporta';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { argumentsAt } from '../../packages/comporta/src/algorithms/algorithm.js';
import { compose, type Script } from '../../packages/comporta/src/algorithms/compose.js';
import { ALL_GATES, type Gates, NO_GATES } from '../../packages/comporta/src/algorithms/compose-gates.js';
import { LIMITS_MAX } from '../../packages/comporta/src/algorithms/written.js';
import { sha1Hex } from '../../packages/comporta/src/core/hash.js';
import { partsOfAll } from '../../packages/comporta/src/stores/batch-parts.js';
import { decode, decodeMany } from '../../packages/comporta/src/stores/redis-replies.js';
import type { StoreReply } from '../../packages/comporta/src/stores/store.js';
import { anyLimit, history, kinds, limitOf, type Step, stepClock } from '../support/arbitraries.js';
import { MemoryBench } from '../support/memory-bench.js';
import { installedKinds, type Server, startServer } from '../support/servers.js';

/** Histories of each kind; a longer hunt is one variable away. */
const HISTORIES = Number(process.env.TWIN_HISTORIES ?? 400);
/** Blocks last by the server's own clock, which runs on between two calls. */
const CLOCK_MS = 5000;

const costOf = (cost: number): string => String(Math.max(1, cost));

let runs = 0;

/** What is decided in one call: subjects and costs at one time. */
interface Batch {
  readonly step: Step;
  readonly entries: readonly Step[];
}

/**
 * Steps that are decided together; the first one of each moves the clock. A look stands for a call of decisions that
 * are all alike, and a charge begins one with some that are.
 */
function batchesOf(steps: readonly Step[]): Batch[] {
  const batches: { step: Step; entries: Step[] }[] = [];
  let isOpen = false;
  for (const step of steps) {
    const times = ['peek', 'force'].includes(step.operation) ? 2 + 3 * step.back : 1;
    if (isOpen && step.operation === 'consume') batches.at(-1)?.entries.push(step);
    else batches.push({ step, entries: Array<Step>(times).fill(step) });
    isOpen = step.operation !== 'peek';
  }
  return batches;
}

class Run {
  readonly #redis: Redis;
  readonly #limits: readonly Limit[];
  readonly #gates: Gates;
  readonly #bench: MemoryBench;
  readonly #holds: boolean;
  readonly #tag: string = `t${process.pid}-${runs++}`;
  readonly #pipeline: ReturnType<Redis['pipeline']>;
  readonly #one: Script;
  readonly #many: Script;
  #replies: unknown[] = [];
  #decided = 0;

  constructor(redis: Redis, limits: readonly Limit[], gates: Gates, mutate: (text: string) => string) {
    this.#redis = redis;
    this.#limits = limits;
    this.#gates = gates;
    this.#bench = new MemoryBench(limits);
    this.#holds = limits.some(({ algorithm }) => algorithm.holds);
    this.#one = compose('consume', limits, gates);
    const text = mutate(compose('consumeMany', limits, gates).text);
    this.#many = { text, sha: sha1Hex(text) };
    this.#pipeline = redis.pipeline();
  }

  async difference(steps: readonly Step[]): Promise<string | undefined> {
    await Promise.all([this.#one, this.#many].map(({ text }) => this.#redis.script('LOAD', text)));
    const batches = batchesOf(steps);
    const inMemory = batches.map((batch) => this.#play(batch));
    const results = (await this.#pipeline.exec()) ?? [];
    this.#replies = results.map(([error, reply]) => error ?? reply).filter((_, i) => this.#isReply[i]);
    for (const [i, { entries }] of batches.entries()) {
      const singles = entries.map(() => decode(this.#replies.shift(), this.#limits.length));
      const all = entries.map(({ cost }) => ({ cost: costOf(cost) }));
      const together = decodeMany(this.#replies.shift(), this.#limits, all).entries;
      for (const [j, single] of singles.entries()) {
        const what = `batch ${i}, entry ${j}`;
        if (!isAlike(single, together[j] as StoreReply))
          return `${what}: alone ${JSON.stringify(single)}, together ${JSON.stringify(together[j])}`;
        const memory = inMemory[i]?.[j];
        if (this.#gates === NO_GATES && !isAlike(memory as StoreReply, together[j] as StoreReply))
          return `${what}: memory ${JSON.stringify(memory)}, together ${JSON.stringify(together[j])}`;
      }
    }
    return this.#stateDifference(batches);
  }

  readonly #isReply: boolean[] = [];

  #play({ step, entries }: Batch): StoreReply[] {
    this.#bench.nowUs = stepClock(this.#bench.nowUs, step, this.#limits[0]?.windowMs ?? 1);
    this.#expire(entries);
    const nowUs = String(this.#bench.nowUs);
    const args = this.#limits.flatMap((limit) => argumentsAt(limit, Math.floor(this.#bench.nowUs / 1000)).map(String));
    const asked = entries.map((entry) => {
      const id = String(this.#decided++);
      const tail = [...this.#gateArguments(entry), ...(this.#holds ? [id] : [])];
      return { subject: entry.back, cost: Number(costOf(entry.cost)), tail, id };
    });
    for (const { subject, cost, tail } of asked) {
      this.#send(this.#one, this.#keys('alone', subject), [nowUs, String(cost), ...args, ...tail]);
    }
    const all = asked.map(({ subject, cost, tail }) => ({ escaped: String(subject), cost: String(cost), tail }));
    const { keys, head, tail } = partsOfAll(all, (escaped) => this.#keys('together', Number(escaped)));
    this.#send(this.#many, keys, [nowUs, ...head.slice(1), ...args, ...tail]);
    return asked.map(({ subject, cost, id }) =>
      this.#bench.policy.consume(String(subject), cost, undefined, undefined, id),
    );
  }

  #send({ sha }: Script, keys: readonly string[], args: readonly string[]): void {
    this.#pipeline.evalsha(sha, keys.length, ...keys, ...args);
    this.#isReply.push(true);
  }

  /** The server's own clock knows nothing of the history's: keys that ended by the latter go by hand. */
  #expire(entries: readonly Step[]): void {
    for (const { back } of entries) {
      this.#limits.forEach((_, i) => {
        if (this.#gates !== NO_GATES || this.#bench.state(String(back), i) !== undefined) return;
        for (const way of ['alone', 'together']) {
          this.#pipeline.del(this.#keys(way, back)[i] as string);
          this.#isReply.push(false);
        }
      });
    }
  }

  #keys(way: string, subject: number): string[] {
    const { areBlockable, arePunished, haveTerms } = this.#gates;
    const count = this.#limits.length + [areBlockable, arePunished, haveTerms].filter(Boolean).length;
    return Array.from({ length: count }, (_, i) => `${way}-{${this.#tag}-${subject}}-${i}`);
  }

  #gateArguments({ cost, windows }: Step): string[] {
    const { arePunished, haveTerms } = this.#gates;
    const terms = cost % 3 === 0 ? ['r2', 'r1'] : ['r1', windows === 0 ? '' : '*'];
    return [...(arePunished ? ['3', '100000', '90000000'] : []), ...(haveTerms ? [...terms, '60000'] : [])];
  }

  async #stateDifference(batches: readonly Batch[]): Promise<string | undefined> {
    const subjects = new Set(batches.flatMap(({ entries }) => entries.map(({ back }) => back)));
    for (const subject of subjects) {
      const together = this.#keys('together', subject);
      for (const [i, key] of this.#keys('alone', subject).entries()) {
        const [a, b] = await Promise.all([this.#stored(key), this.#stored(together[i] as string)]);
        if (a.bytes !== b.bytes || Math.abs(a.ttlMs - b.ttlMs) > CLOCK_MS) {
          return `key ${i} of ${subject}: alone ${JSON.stringify(a)}, together ${JSON.stringify(b)}`;
        }
      }
    }
    return undefined;
  }

  async #stored(key: string): Promise<{ bytes: string | undefined; ttlMs: number }> {
    const [bytes, ttlMs] = await Promise.all([this.#redis.dumpBuffer(key), this.#redis.pttl(key)]);
    return { bytes: bytes?.toString('hex'), ttlMs };
  }
}

function isAlike(a: StoreReply, b: StoreReply): boolean {
  const isBlockAlike = Math.abs((a.blockedMs ?? -1) - (b.blockedMs ?? -1)) <= CLOCK_MS;
  return isBlockAlike && a.terms === b.terms && a.atUs === b.atUs && a.numbers.join() === b.numbers.join();
}

const same = (text: string): string => text;

describe.each(installedKinds())('%s', (server) => {
  let running: Server;
  let redis: Redis;

  beforeAll(async () => {
    running = await startServer({ kind: server });
    redis = new Redis({ port: running.port, host: running.host });
  });
  afterAll(async () => {
    redis.disconnect();
    await running.stop();
  });

  const difference = (limits: readonly Limit[], gates: Gates, steps: readonly Step[], mutate = same) =>
    new Run(redis, limits, gates, mutate).difference(steps);
  const least = (limits: readonly Limit[]): number => Math.min(...limits.map(({ limit }) => limit));
  const scenarioOf = (limits: fc.Arbitrary<Limit[]>) =>
    limits.chain((all) => fc.tuple(fc.constant(all), history(least(all), true, 24)));

  test.each(kinds)('%s decides several at once as one after the other', async (kind) => {
    const scenario = scenarioOf(limitOf(kind).map((limit) => [limit]));
    await fc.assert(
      fc.asyncProperty(scenario, async ([limits, steps]) => {
        expect(await difference(limits, NO_GATES, steps)).toBeUndefined();
      }),
      { numRuns: HISTORIES },
    );
  });

  test('several limits, blocks, punishments and terms do too', async () => {
    const gates = fc.constantFrom<Gates>(
      NO_GATES,
      ALL_GATES,
      { ...NO_GATES, haveTerms: true },
      { ...NO_GATES, areBlockable: true },
      { ...ALL_GATES, haveTerms: false },
    );
    const scenario = scenarioOf(fc.array(anyLimit, { minLength: 1, maxLength: 4 }));
    await fc.assert(
      fc.asyncProperty(scenario, gates, async ([limits, steps], some) => {
        expect(await difference(limits, some, steps)).toBeUndefined();
      }),
      { numRuns: HISTORIES },
    );
  });

  test('the largest scripts are within what Lua compiles', async () => {
    const build = (kind: string): Limit => fc.sample(limitOf(kind), 1)[0] as Limit;
    const mixed = Array.from({ length: LIMITS_MAX }, (_, i) => build(kinds[i % kinds.length] as string));
    for (const limits of [mixed, ...kinds.map((kind) => Array<Limit>(LIMITS_MAX).fill(build(kind)))]) {
      const { text, sha } = compose('consumeMany', limits, ALL_GATES);
      expect(await redis.script('LOAD', text)).toBe(sha);
    }
  });

  const faults: readonly (readonly [about: string, find: string, replace: string])[] = [
    ['what one entry wrote the next does not see', 'values[key], lifetimes[key] = value, lifetime', ''],
    ['every entry is of the first subject', 'if #KEYS > ', 'if 0 > '],
    ['every entry has the cost of the first', 'tonumber(ARGV[argument])', 'tonumber(ARGV[7])'],
    ['what is charged at once is charged for one', ') or 1) * together', ') or 1)'],
    ['what is charged at once is told wrong', 'reply = { us, used0', 'reply = { us, used0 + token0'],
    ['what does not fit is not decided again', 'entry, together = 0, 1', 'together = 1'],
    ['what was written is not stored', "redis.call('SET', key, values[key], 'PX', text)", ''],
  ];
  test.each(faults)('control: that %s is noticed', async (_, find, replace) => {
    const [example] = fc.sample(limitOf('tokenBucket'), 1) as [Limit];
    expect(compose('consumeMany', [example]).text).toContain(find);
    const planted = (text: string): string => text.replace(find, replace);
    const scenario = scenarioOf(limitOf('tokenBucket').map((limit) => [limit]));
    const property = fc.asyncProperty(
      scenario,
      async ([limits, steps]) => (await difference(limits, NO_GATES, steps, planted)) === undefined,
    );
    expect((await fc.check(property, { numRuns: HISTORIES, endOnFailure: true })).failed).toBe(true);
  });
});
