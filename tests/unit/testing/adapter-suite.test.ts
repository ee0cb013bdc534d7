import { rateLimit } from 'comporta/express';
import type { HeaderForm, Outcome, RateLimitOptions, RequestView } from 'comporta/http';
import { AssertionError, adapterSuite, type StartApp } from 'comporta/testing';
import express from 'express';
import { expect, test } from 'vitest';
import { doors } from '../http/doors/index.js';
import { closeServer, listen, portOf } from '../http/serve.js';

const right = doors.express as StartApp;

/** The adapter of Express as if it misunderstood its options. */
const changing = (change: (options: Record<string, unknown>) => object): StartApp => {
  return (options, answer) => right(change({ ...options }) as RateLimitOptions, answer);
};
const without = (...names: readonly string[]): StartApp =>
  changing((options) => Object.fromEntries(Object.entries(options).filter(([name]) => !names.includes(name))));

const isGet = ({ method }: RequestView): number => (method === 'GET' ? 1 : 0);
const isNoOptions = ({ method }: RequestView): number => (method === 'OPTIONS' ? 0 : 1);

const called = (options: Record<string, unknown>, ...given: readonly unknown[]): unknown =>
  typeof options.count === 'function' ? options.count(...given) : 1;

/** Fails every request after one whose client left. */
const fragile: StartApp = async (options, answer) => {
  let isBroken = false;
  const app = express();
  app.use((_request, response, next) => {
    response.once('close', () => {
      isBroken ||= !response.writableFinished;
    });
    if (isBroken) response.status(500).send('broken');
    else next();
  });
  app.use(rateLimit(options));
  app.use((request, response) => void response.send(answer(request.path).body));
  const server = await listen(app);
  return { url: `http://127.0.0.1:${portOf({ server })}`, close: () => closeServer(server) };
};

/** Sends nothing before all of an answer is there. */
const buffering: StartApp = async (options, answer) => {
  const app = express().use(rateLimit(options));
  app.use((request, response) => {
    const { body, isEndless } = answer(request.path);
    if (!isEndless) response.send(body);
  });
  const server = await listen(app);
  return { url: `http://127.0.0.1:${portOf({ server })}`, close: () => closeServer(server) };
};

const forms: readonly HeaderForm[] = ['draft-11', 'draft-7', 'draft-6', 'legacy', 'none'];
const formFaults = forms.map((form, i): readonly [string, RegExp, StartApp] => [
  `writes other fields than ${form}`,
  new RegExp(`headers: ${form} `),
  changing((options) => ({ ...options, headers: forms[(i + 1) % forms.length] })),
]);

const faults: readonly (readonly [string, RegExp, StartApp])[] = [
  ['refuses nobody', /at once: requests pass/, changing((options) => ({ ...options, shadow: true }))],
  ['says nothing', /later: requests pass/, changing((options) => ({ ...options, headers: 'legacy' }))],
  ['counts twice', /at once: requests pass/, changing((options) => ({ ...options, cost: 2 }))],
  [
    'lets refused requests through',
    /at once: requests pass/,
    async (options, answer) => {
      const seen = (_: unknown): void => void answer('/');
      return right({ ...options, onVerdict: ({ allowed }) => allowed || seen(allowed) }, answer);
    },
  ],
  ['refuses with 403', /problem in JSON/, changing((options) => ({ ...options, deny: ['127.0.0.1', '::1'] }))],
  ['does not count HEAD', /^HEAD/, changing((options) => ({ ...options, cost: isGet }))],
  ['counts preflight', /^preflight/, changing((options) => ({ ...options, countPreflight: true }))],
  ...formFaults,
  ['writes one form of two', /two forms/, changing((options) => ({ ...options, headers: 'draft-11' }))],
  ['refuses in shadow mode', /^in shadow mode/, without('shadow')],
  ['counts friends', /^whom allow/, without('allow')],
  ['serves foes', /^whom deny/, without('deny')],
  ['hides a key function that throws', /^a key function/, without('key')],
  ['hides a cost function that throws', /^a cost function/, without('cost')],
  ['leaves out OPTIONS', /^OPTIONS/, changing((options) => ({ ...options, cost: isNoOptions }))],
  ['lets large bodies in', /large body/, changing((options) => ({ ...options, cost: isGet }))],
  ['keeps one client for all', /^policies meet/, changing((options) => ({ ...options, key: () => 'a' }))],
  ['counts every path', /^policies meet/, changing((options) => ({ ...options, key: 'ip', match: {} }))],
  ['trusts no proxy', /^behind a trusted proxy/, without('trustedProxies')],
  ['trusts everybody', /^without a trusted/, changing((options) => ({ ...options, trustedProxies: ['loopback'] }))],
  ['takes any option', /^wrong options/, without('limit')],
  ['never settles', /count: failures/, without('count')],
  ['settles the wrong way', /count: successes/, changing((options) => ({ ...options, count: 'failures' }))],
  [
    'settles twice',
    /^every response is settled once/,
    changing((options) => ({
      ...options,
      count: (...given: readonly unknown[]) => {
        called(options, ...given);
        return called(options, ...given);
      },
    })),
  ],
  [
    'takes a client that leaves for a success',
    /^a client that leaves inside/,
    changing((options) => ({
      ...options,
      count: (outcome: Outcome, view: unknown) => called(options, { ...outcome, aborted: false }, view),
    })),
  ],
  [
    'settles refusals too',
    /used again/,
    (options, answer) => {
      const settle = (): unknown => called({ ...options }, { status: 429, aborted: false });
      return right({ ...options, onVerdict: ({ allowed }) => allowed || void settle() }, answer);
    },
  ],
  ['holds back parts', /at once, where its end changes nothing/, buffering],
  ['holds back parts of what it settles', /at once, where its end decides/, buffering],
  ['breaks when a client leaves', /^a client that leaves before/, fragile],
  ['admits what comes at once', /made at once/, changing((options) => ({ ...options, cost: 0 }))],
  ['opens when it must close', /closed refuses/, changing((options) => ({ ...options, onStoreFailure: 'open' }))],
  [
    'opens when it must count',
    /local goes on/,
    changing(({ instances: _, ...options }) => ({ ...options, onStoreFailure: 'open' })),
  ],
  ['closes when it must open', /open lets/, changing((options) => ({ ...options, onStoreFailure: 'closed' }))],
];

// At once, since some of these wait in vain for what the suite waits for.
test.concurrent.each(faults)('the suite notices an adapter that %s', async (_, name, start) => {
  const found = adapterSuite.find((one) => name.test(one.name));
  await expect(found?.run(start)).rejects.toBeInstanceOf(AssertionError);
});

test('every case of the suite fails for some faulty adapter', () => {
  const proven = new Set(faults.map(([, name]) => adapterSuite.find((one) => name.test(one.name))));
  expect(adapterSuite.filter((one) => !proven.has(one)).map(({ name }) => name)).toEqual([]);
});

test('the names of the suite are unique', () => {
  const names = adapterSuite.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
});
