import { type ComportaError, memoryStore, slidingWindow } from 'comporta';
import { createGate, type Policy } from 'comporta/http';
import { afterEach, beforeEach, expect, test } from 'vitest';

// Functions that must answer at once are written `async` by mistake: a failure inside must not end the process.
const rejections: unknown[] = [];
const note = (reason: unknown): void => void rejections.push(reason);
beforeEach(() => {
  rejections.length = 0;
  process.on('unhandledRejection', note);
});
afterEach(() => {
  process.off('unhandledRejection', note);
});

const failing = async (): Promise<never> => {
  throw new Error('inside');
};
const view = {
  method: 'GET',
  url: '/',
  route: undefined,
  peerAddress: '203.0.113.1',
  header: () => [],
  request: undefined,
};

test.each(['key', 'cost', 'count', 'plan', 'allow', 'deny', 'onVerdict', 'onError'])('an async %s', async (name) => {
  const errors: ComportaError[] = [];
  const own = { [name]: failing } as unknown as Partial<Policy>;
  const isOfGate = name.startsWith('on');
  const limits = slidingWindow({ limit: 9, window: '10s' });
  const gate = createGate({
    policies: [
      {
        name: 'p',
        limits,
        ...(isOfGate ? { key: () => '' } : own),
        ...(name === 'plan' && { plans: { gold: limits } }),
      },
    ],
    store: memoryStore(),
    onError: (error) => errors.push(error),
    ...(isOfGate && (own as object)),
  });
  const verdict = await gate.check(view);
  verdict.finish?.({ status: 200, aborted: false });
  await new Promise((resolve) => setImmediate(resolve));
  expect(verdict.allowed).toBe(true);
  expect(rejections).toEqual([]);
  if (!isOfGate) expect(errors).not.toEqual([]);
  await gate.close();
});
