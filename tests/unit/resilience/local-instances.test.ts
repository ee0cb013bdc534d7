import { slidingWindow } from 'comporta';
import { createGate } from 'comporta/http';
import { redisStore } from 'comporta/redis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../../support/ports.js';

const limits = slidingWindow({ limit: 12, window: '1d' });

let url: string;
beforeAll(async () => {
  url = `redis://127.0.0.1:${await freePort()}`;
});

const closing: (() => Promise<void>)[] = [];
afterAll(() => Promise.all(closing.map((close) => close())));

/** What each policy admits with no server there. */
async function admitted(policies: readonly { name: string; instances?: number | 'auto' }[]): Promise<number[]> {
  const store = redisStore(url, { onWarning: () => undefined });
  const gate = createGate({ policies: policies.map((policy) => ({ ...policy, limits })), store, instances: 2 });
  closing.push(
    () => gate.close(),
    () => store.close(),
  );
  const counts = policies.map(async ({ name }) => {
    let count = 0;
    while ((await gate.limiters.get(name)?.consume('s'))?.allowed === true) count++;
    return count;
  });
  return Promise.all(counts);
}

test('a policy may say itself how many processes share its limits, else the gate does', async () => {
  expect(await admitted([{ name: 'four', instances: 4 }, { name: 'shared' }, { name: 'whole', instances: 1 }])).toEqual(
    [3, 6, 12],
  );
});

test("a number that cannot be is named as the policy's, or as the gate's", () => {
  const gate = (own: object, shared: object) => () =>
    createGate({ policies: [{ name: 'p', limits, ...own }], ...shared });
  expect(gate({ instances: 0 }, {})).toThrow(/^policies\[0\]\.instances: /);
  expect(gate({}, { instances: 0 })).toThrow(/^instances: /);
});
