import assert from 'node:assert/strict';
import {
  createLimiter,
  fixedWindow,
  type Limit,
  type Store,
  slidingWindow,
  slidingWindowCounter,
  tokenBucket,
} from 'comporta';
import { ask, limiterOn } from '../../packages/comporta/src/testing/store-limiters.js';
import { hostileSubjects } from '../../packages/comporta/src/testing/store-subjects.js';
import type { Server } from '../support/servers.js';
import { slotOf } from '../support/slots.js';

/** A server that can be looked into. */
export type Inspected = Pick<Server, 'command' | 'buffers'>;

/** What only a store on Redis has: keys that can be looked at. */
export interface RedisCase {
  readonly name: string;
  run(store: Store, servers: readonly Inspected[]): Promise<void>;
}

interface Key {
  readonly name: string;
  readonly server: Inspected;
}

const WINDOW_MS = 60_000;
const kinds: Readonly<Record<string, Limit>> = {
  tokenBucket: tokenBucket({ capacity: 5, refill: 5, every: WINDOW_MS }),
  slidingWindow: slidingWindow({ limit: 5, window: WINDOW_MS }),
  slidingWindowCounter: slidingWindowCounter({ limit: 5, window: WINDOW_MS }),
  fixedWindow: fixedWindow({ limit: 5, window: WINDOW_MS }),
};
const TTL_MAX_MS = 2 * WINDOW_MS + 1000;

async function keysOf(servers: readonly Inspected[], policy: string): Promise<Key[]> {
  const lists = await Promise.all(
    servers.map(async (server) => {
      const names = (await server.command('KEYS', `*}:${policy}:*`)) as string[];
      return names.map((name) => ({ name, server }));
    }),
  );
  return lists.flat();
}

const ttlOf = async ({ name, server }: Key): Promise<number> => Number(await server.command('PTTL', name));

async function assertBounded(keys: readonly Key[], count: number): Promise<void> {
  assert.equal(keys.length, count);
  for (const key of keys) {
    const ttl = await ttlOf(key);
    assert.ok(ttl > 0 && ttl <= TTL_MAX_MS, `${key.name} lives ${ttl} ms`);
  }
}

const lifeCases = Object.entries(kinds).flatMap(([kind, limit]): RedisCase[] => [
  {
    name: `every key of ${kind} has a time to live of at most two windows and a second, whatever was done`,
    run: async (store, servers) => {
      const policy = `ttl-${kind}`;
      const limiter = limiterOn(store, policy, limit);
      for (const cost of [1, 3]) {
        await ask(limiter, `first-${cost}`, cost);
        await assertBounded(await keysOf(servers, policy), cost === 1 ? 1 : 2);
      }
      const decision = await ask(limiter, 'again', 2);
      for (let i = 0; i < 10; i++) await ask(limiter, 'again');
      await limiter.refund(decision, 1);
      await assertBounded(await keysOf(servers, policy), 4);
    },
  },
  {
    name: `a key of ${kind} that lost its time to live gets one at the next charge and the next refund`,
    run: async (store, servers) => {
      const policy = `heal-${kind}`;
      const limiter = limiterOn(store, policy, limit);
      const decision = await ask(limiter, 'a');
      const [key] = await keysOf(servers, policy);
      assert.ok(key);
      for (const touch of [() => ask(limiter, 'a'), () => limiter.refund(decision)]) {
        await key.server.command('PERSIST', key.name);
        assert.equal(await ttlOf(key), -1);
        await touch();
        await assertBounded([key], 1);
      }
    },
  },
  {
    name: `looks and refusals of ${kind} change neither value nor time to live`,
    run: async (store, servers) => {
      const policy = `still-${kind}`;
      const limiter = limiterOn(store, policy, limit);
      await ask(limiter, 'a', 5);
      const [key] = await keysOf(servers, policy);
      assert.ok(key);
      await key.server.command('PEXPIRE', key.name, 50_000);
      const before = await key.server.buffers('DUMP', key.name);
      await Promise.all(Array.from({ length: 1000 }, () => ask(limiter, 'a', 2)));
      await limiter.peek('a');
      assert.deepEqual(await key.server.buffers('DUMP', key.name), before);
      assert.ok((await ttlOf(key)) <= 50_000);
      assert.equal((await keysOf(servers, policy)).length, 1);
    },
  },
]);

const shapeCases: readonly RedisCase[] = [
  {
    name: 'the log holds no more entries than its limit after a thousand refusals',
    run: async (store, servers) => {
      const limiter = limiterOn(store, 'log', slidingWindow({ limit: 5, window: WINDOW_MS }));
      await Promise.all(Array.from({ length: 1005 }, () => ask(limiter, 'a')));
      const [key] = await keysOf(servers, 'log');
      assert.ok(key);
      assert.equal(await key.server.command('LLEN', key.name), 5);
    },
  },
  {
    name: 'keys of hostile subjects are short, plain text, and hold exactly one tag',
    run: async (store, servers) => {
      const limiter = limiterOn(store, 'short', slidingWindow({ limit: 1, window: WINDOW_MS }));
      await Promise.all(hostileSubjects.map((subject) => ask(limiter, subject)));
      const keys = await keysOf(servers, 'short');
      assert.equal(keys.length, hostileSubjects.length);
      for (const { name } of keys) assert.match(name, /^cmp1:\{[!-z|~]{1,128}\}:short:slidingWindow:sw$/);
    },
  },
  {
    name: 'all keys of a subject share a slot, the mark of a refund too, and subjects are spread over slots',
    run: async (store, servers) => {
      const limiter = limiterOn(store, 'slots', Object.values(kinds));
      const subjects = Array.from({ length: 50 }, (_, i) => `user:${i}`);
      for (const subject of subjects) await limiter.refund(await ask(limiter, subject, 2), 1);
      const names = (await keysOf(servers, 'slots')).map(({ name }) => name);
      const tags = [...new Set(names.map((name) => name.slice(0, name.indexOf('}') + 1)))];
      const groups = tags.map((tag) => names.filter((name) => name.startsWith(tag)));
      assert.equal(groups.length, subjects.length);
      for (const group of groups) assert.deepEqual([group.length, new Set(group.map(slotOf)).size], [5, 1]);
      assert.ok(new Set(names.map(slotOf)).size > 40);
    },
  },
  {
    name: 'a reset removes the keys of the subject and of no other',
    run: async (store, servers) => {
      const limiter = limiterOn(store, 'reset', Object.values(kinds));
      for (const subject of ['a', 'b']) await ask(limiter, subject);
      assert.deepEqual(await limiter.reset('a'), { keysRemoved: 4 });
      assert.ok((await keysOf(servers, 'reset')).every(({ name }) => name.includes('{b}')));
    },
  },
  {
    name: 'a split subject has a key for each part, each with its share, and nothing is admitted beyond the limit',
    run: async (store, servers) => {
      const limits = slidingWindow({ limit: 130, window: WINDOW_MS });
      const limiter = createLimiter({ policy: 'split', limits, store, timeoutMs: 2000, split: { parts: 8 } });
      const subjects = ['a', '{b}\u0000', 'x'.repeat(500)];
      for (const subject of subjects) {
        const decisions = await Promise.all(Array.from({ length: 200 }, () => ask(limiter, subject)));
        assert.equal(decisions.filter(({ allowed }) => allowed).length, 130);
        assert.equal((await limiter.peek(subject)).limits[0]?.remaining, 0);
        const first = decisions.find(({ allowed }) => allowed);
        assert.ok(first !== undefined && (await limiter.refund(first)));
        assert.equal((await limiter.peek(subject)).limits[0]?.remaining, 1);
      }
      const keys = await keysOf(servers, 'split');
      // Each subject also has the mark of one refund.
      assert.equal(keys.length, subjects.length * 9);
      for (const { name } of keys) assert.match(name, /^cmp1:\{%p[0-7]\.\d+\.[!-z|~]{1,128}\}:split:/);
      for (const subject of subjects) assert.deepEqual(await limiter.reset(subject), { keysRemoved: 8 });
    },
  },
  {
    name: 'a refund never makes a key',
    run: async (store, servers) => {
      const limiter = limiterOn(store, 'gone', Object.values(kinds));
      const decision = await ask(limiter, 'a');
      await limiter.reset('a');
      assert.equal(await limiter.refund(decision), false);
      assert.deepEqual(await keysOf(servers, 'gone'), []);
    },
  },
];

export const redisCases: readonly RedisCase[] = [...lifeCases, ...shapeCases];
