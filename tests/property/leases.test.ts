import { concurrency, type Lease, memoryStore } from 'comporta';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { wire } from '../../packages/comporta/src/limiter/create.js';
import { FakeClock, flush } from '../support/fake-clock.js';

const LEASE_MS = 1000;
const PROCESSES = 3;

/** A process whose timers do not run while it is paused. */
class Pausable extends FakeClock {
  readonly #world: FakeClock;

  constructor(world: FakeClock) {
    super(world.nowUs());
    this.#world = world;
  }

  override nowUs(): number {
    return this.#world.nowUs();
  }
}

const steps = fc.array(
  fc.record({
    act: fc.constantFrom('acquire', 'acquire', 'release', 'forget', 'pause', 'resume', 'pass', 'pass'),
    process: fc.integer({ min: 0, max: PROCESSES - 1 }),
    pick: fc.nat(),
    ms: fc.integer({ min: 0, max: 1500 }),
  }),
  { maxLength: 60, size: 'max' },
);

test('whatever pauses, dies or lets go, the record keeps the limit, and who is awake has its place', async () => {
  let [lost, full] = [0, 0];
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 3 }), steps, async (limit, history) => {
      const world = new FakeClock();
      const store = memoryStore({ clock: world });
      const limits = concurrency({ limit, lease: LEASE_MS });
      const processes = Array.from({ length: PROCESSES }, () => {
        const clock = new Pausable(world);
        return { clock, limiter: wire({ policy: 'p', limits, store }, clock), leases: [] as Lease[], isPaused: false };
      });
      const observer = wire({ policy: 'p', limits, store }, world);
      const room = async () => (await observer.peek('s', { cost: 0 })).limits[0]?.remaining ?? -1;
      const run = async (ms: number) => {
        for (let passed = 0; passed < ms; passed += 50) {
          world.advance(50);
          for (const { clock, isPaused } of processes) if (!isPaused) await clock.pass(50);
        }
      };
      for (const { act, process, pick, ms } of history) {
        const chosen = processes[process] as (typeof processes)[number];
        if (act === 'pass') await run(ms);
        if (act === 'pause') chosen.isPaused = true;
        if (act === 'resume' && chosen.isPaused) {
          chosen.isPaused = false;
          // A timer that was due meanwhile runs as soon as the process does.
          await chosen.clock.pass(LEASE_MS);
        }
        const isAwake = !chosen.isPaused;
        if (act === 'acquire' && isAwake) {
          const before = await room();
          const lease = await chosen.limiter.acquire('s');
          expect(lease.allowed).toBe(before > 0);
          if (lease.allowed) chosen.leases.push(lease);
          else full++;
        }
        if (act === 'release' && isAwake)
          await chosen.leases.splice(pick % (chosen.leases.length + 1), 1)[0]?.release();
        if (act === 'forget') await observer.consume('s');
        await flush();
        const left = await room();
        expect(left).toBeGreaterThanOrEqual(0);
        const held = processes.filter(({ isPaused }) => !isPaused).flatMap(({ leases }) => leases);
        const living = held.filter(({ signal }) => !signal.aborted);
        lost += held.length - living.length;
        expect(living.length, 'whoever is awake and was not told otherwise has a place').toBeLessThanOrEqual(
          limit - left,
        );
      }
      await Promise.all(processes.map(({ limiter }) => limiter.close()));
      expect(processes.map(({ clock }) => clock.timers)).toEqual([0, 0, 0]);
      await observer.close();
    }),
    { numRuns: 200 },
  );
  expect(lost, 'histories in which nothing is lost prove little').toBeGreaterThan(10);
  expect(full).toBeGreaterThan(10);
});
