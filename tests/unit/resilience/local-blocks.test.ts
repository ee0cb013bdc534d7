import { tokenBucket } from 'comporta';
import { expect, test } from 'vitest';
import { wire } from '../../../packages/comporta/src/limiter/create.js';
import { FakeClock } from '../../support/fake-clock.js';
import { ScriptedStore } from '../limiter/scripted-store.js';

const limits = tokenBucket({ capacity: 9, refill: 1, every: '1h' });

async function playing() {
  const [clock, store] = [new FakeClock(), new ScriptedStore()];
  const limiter = wire({ policy: 'p', limits, store, blocks: true }, clock);
  /** A decision of the store; without a reply the store does not answer. */
  const ask = async (reply?: object) => {
    const answer = limiter.consume('s');
    if (reply === undefined) await clock.pass(60);
    else store.call(store.calls.length - 1).resolve(reply as never);
    return answer;
  };
  return { clock, ask };
}

const admitted = { atUs: 1, numbers: [8, 0, 1000, 1000] };

test('who was blocked by the store stays blocked while it is away, and no longer', async () => {
  const { clock, ask } = await playing();
  expect(await ask({ atUs: 1, numbers: [], blockedMs: 5000 })).toMatchObject({ reason: 'blocked', retryAfterMs: 5000 });
  await clock.pass(1000);
  expect(await ask()).toMatchObject({ allowed: false, reason: 'blocked', degraded: { mode: 'local' } });
  await clock.pass(4000);
  expect(await ask()).toMatchObject({ allowed: true, degraded: { mode: 'local' } });
});

test('who was let in again by the store is let in while it is away', async () => {
  const { ask } = await playing();
  expect(await ask({ atUs: 1, numbers: [], blockedMs: 5000 })).toMatchObject({ reason: 'blocked' });
  expect(await ask(admitted)).toMatchObject({ allowed: true, degraded: undefined });
  expect(await ask()).toMatchObject({ allowed: true, degraded: { mode: 'local' } });
});
