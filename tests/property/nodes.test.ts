import { type Decision, type Limiter, type PolicyStore, type Store, StoreError, slidingWindow } from 'comporta';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { wire } from '../../packages/comporta/src/limiter/create.js';
import type { StoreReply } from '../../packages/comporta/src/stores/store.js';
import { FakeClock } from '../support/fake-clock.js';

type Health = 'well' | 'slow' | 'silent' | 'down';
const NODES = ['a', 'b', 'c'] as const;
type Node = (typeof NODES)[number];
/** Two policies on one store; a slow node is too slow for the first. */
const LIMITS_MS = { hasty: 50, patient: 500 } as const;
type PolicyName = keyof typeof LIMITS_MS;
const SLOW_MS = 120;

/** A store of three nodes, each well or not on its own; a subject lives on the node of its first letter. */
class Nodes implements Store {
  readonly kind = 'redis';
  readonly health: Record<Node, Health> = { a: 'well', b: 'well', c: 'well' };
  readonly #clock: FakeClock;

  constructor(clock: FakeClock) {
    this.#clock = clock;
  }

  bind(): PolicyStore {
    const ask = (subject: string): Promise<StoreReply> => {
      const health = this.health[subject[0] as Node];
      const reply: StoreReply = { atUs: this.#clock.nowUs(), numbers: [5, 0, 0, 0] };
      if (health === 'down') return Promise.reject(new StoreError('unavailable', 'refused', { isUnsent: true }));
      return new Promise((resolve) => {
        const afterMs = health === 'slow' ? SLOW_MS : 1;
        if (health !== 'silent') this.#clock.startTimer(afterMs, () => resolve(reply));
      });
    };
    const none = (): Promise<number> => Promise.resolve(0);
    return { consume: ask, peek: ask, refund: none, reset: none, shardOf: (subject) => subject[0] as string };
  }
  ping = () => Promise.resolve();
  ready = () => Promise.resolve();
  close = () => Promise.resolve();
}

interface Step {
  readonly node: Node;
  readonly policy: PolicyName;
  /** Makes the node so before the call. */
  readonly health: Health | undefined;
  readonly calls: number;
  readonly passMs: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  node: fc.constantFrom(...NODES),
  policy: fc.constantFrom<PolicyName>('hasty', 'patient'),
  health: fc.oneof(
    { weight: 3, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constantFrom<Health>('well', 'slow', 'silent', 'down') },
  ),
  calls: fc.constantFrom(1, 1, 2, 5),
  passMs: fc.constantFrom(0, 1, 10, 50, 60, 130, 300),
});

interface Told {
  readonly what: 'degraded' | 'recovered';
  readonly policy: string;
  readonly node: string;
}

class Play {
  readonly clock: FakeClock = new FakeClock();
  readonly store: Nodes = new Nodes(this.clock);
  readonly told: Told[] = [];
  /** What each node has ever been. */
  readonly been: Record<Node, Set<Health>> = { a: new Set(), b: new Set(), c: new Set() };
  readonly seen = { store: 0, degraded: 0, patient: 0 };
  readonly #limiters: Record<PolicyName, Limiter>;

  constructor() {
    this.#limiters = { hasty: this.#make('hasty'), patient: this.#make('patient') };
  }

  async run(steps: readonly Step[]): Promise<void> {
    const pending: Promise<void>[] = [];
    for (const { node, policy, health, calls, passMs } of steps) {
      // One node never does worse than to be slow.
      if (health !== undefined) this.store.health[node] = node === 'a' && health !== 'well' ? 'slow' : health;
      this.been[node].add(this.store.health[node]);
      for (let i = 0; i < calls; i++) pending.push(this.ask(policy, node).then((decision) => this.#check(decision)));
      await this.clock.pass(passMs);
    }
    await this.clock.pass(1000);
    await Promise.all(pending);
  }

  async ask(policy: PolicyName, node: Node): Promise<Decision> {
    const dueUs = this.clock.nowUs() + LIMITS_MS[policy] * 1000;
    const decision = await this.#limiters[policy].consume(`${node}1`);
    expect(this.clock.nowUs()).toBeLessThanOrEqual(dueUs);
    return decision;
  }

  #check({ policy, subject, degraded }: Decision): void {
    const been = this.been[subject[0] as Node];
    this.seen[degraded === undefined ? 'store' : 'degraded']++;
    const isOnlySlow = !been.has('silent') && !been.has('down');
    if (!isOnlySlow) return;
    // A node that serves is never held to account for others, nor for those who cannot wait.
    if (policy === 'patient' && been.has('slow')) this.seen.patient++;
    if (policy === 'patient' || !been.has('slow')) expect(degraded).toBeUndefined();
  }

  #make(policy: PolicyName): Limiter {
    const limits = slidingWindow({ limit: 5, window: '1s' });
    const timeoutMs = LIMITS_MS[policy];
    const limiter = wire({ policy, limits, store: this.store, timeoutMs, onStoreFailure: 'open' }, this.clock);
    limiter.on('degraded', (event) => this.told.push({ what: 'degraded', policy: event.policy, node: event.node }));
    limiter.on('recovered', (event) => this.told.push({ what: 'recovered', policy: event.policy, node: event.node }));
    return limiter;
  }
}

test('a node that serves in time is never degraded by others, and changes are told per node', async () => {
  const seen = { store: 0, degraded: 0, patient: 0, told: 0 };
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40 }), async (steps) => {
      const play = new Play();
      await play.run(steps);
      seen.store += play.seen.store;
      seen.degraded += play.seen.degraded;
      seen.patient += play.seen.patient;
      seen.told += play.told.length;
      for (const node of NODES) {
        for (const policy of ['hasty', 'patient'] as const) {
          const changes = play.told.filter((told) => told.policy === policy && told.node === node);
          expect(changes.map(({ what }) => what)).toEqual(
            changes.map((_, i) => (i % 2 === 0 ? 'degraded' : 'recovered')),
          );
          if (changes.length > 0) expect([...play.been[node]].some((health) => health !== 'well')).toBe(true);
        }
      }
    }),
    { numRuns: Number(process.env.PROPERTY_RUNS ?? 300) },
  );
  // Every sort of end took place, or the scenarios would prove little.
  for (const [sort, count] of Object.entries(seen)) expect(count, sort).toBeGreaterThan(100);
});

test('once all nodes are well the store decides within a second and one time limit', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 30 }), async (steps) => {
      const play = new Play();
      await play.run(steps);
      Object.assign(play.store.health, { a: 'well', b: 'well', c: 'well' });
      for (const policy of ['hasty', 'patient'] as const) {
        for (const node of NODES) {
          const endUs = play.clock.nowUs() + (1000 + LIMITS_MS[policy]) * 1000;
          let isBack = false;
          while (!isBack) {
            expect(play.clock.nowUs()).toBeLessThanOrEqual(endUs);
            const answer = play.ask(policy, node);
            await play.clock.pass(10);
            isBack = (await answer).degraded === undefined;
          }
        }
      }
      const open = new Map<string, string>();
      for (const { what, policy, node } of play.told) open.set(`${policy} ${node}`, what);
      expect([...open.values()].filter((what) => what === 'degraded')).toEqual([]);
    }),
    { numRuns: Number(process.env.PROPERTY_RUNS ?? 200) },
  );
});
