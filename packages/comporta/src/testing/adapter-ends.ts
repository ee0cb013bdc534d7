import { fixedWindow } from '../algorithms/limits.js';
import type { Verdict } from '../http/gate.js';
import { createLimiter } from '../limiter/create.js';
import type { Outcome } from '../policies/policy.js';
import { memoryStore } from '../stores/memory.js';
import { type AdapterCase, type App, type CaseOptions, HELLO, POLICY, type StartApp, withApp } from './adapter-app.js';
import { assertSame, assertTrue } from './assertion.js';
import { faultyStore } from './faulty-store.js';
import { pause, until } from './pause.js';

const LIMIT = 100;
const limits = fixedWindow({ limit: LIMIT, window: '1d', align: 'first-hit' });

/** Sends a request, and goes away when the first part of the answer is there. */
async function leave(app: App, path: string): Promise<void> {
  const controller = new AbortController();
  const response = await app.open(path, { signal: controller.signal });
  await response.body?.getReader().read();
  controller.abort();
}

/** Runs a case whose policy counts by outcome, with a way to know what stays charged. */
function counting(
  start: StartApp,
  options: Pick<CaseOptions, 'count' | 'cost'>,
  use: (app: App, used: () => Promise<number>) => Promise<void>,
): Promise<void> {
  const store = memoryStore();
  const reader = createLimiter({ policy: POLICY, limits, store });
  let subject = '';
  const onVerdict = ({ decisions }: Verdict): void => {
    subject = decisions[0]?.subject ?? '';
  };
  const used = async (): Promise<number> => LIMIT - ((await reader.peek(subject)).limits[0]?.remaining ?? Number.NaN);
  return withApp(start, { limits, store, onVerdict, ...options }, (app) => use(app, used));
}

const settling: readonly AdapterCase[] = [
  {
    name: 'every response is settled once, with its status',
    run: async (start) => {
      const outcomes: Outcome[] = [];
      const count = ({ status, aborted }: Outcome): number => {
        outcomes.push({ status, aborted });
        return 1;
      };
      await counting(start, { count, cost: 1 }, async (app) => {
        const statuses = [200, 404, 500];
        for (const status of statuses) {
          assertSame((await app.ask(`/status/${status}`)).status, status);
          await until(() => outcomes.at(-1)?.status === status, `the end of ${status}`);
        }
        await app.ask('/', { method: 'HEAD' });
        await until(() => outcomes.length >= 4, 'the end of the last response');
        await pause(50);
        const expected = [...statuses, 200].map((status) => ({ status, aborted: false }));
        assertSame(outcomes, expected);
      });
    },
  },
  {
    name: 'with count: failures only responses that fail stay charged',
    run: (start) =>
      counting(start, { count: 'failures' }, async (app, used) => {
        for (const status of [200, 404, 200, 500, 200]) await app.ask(`/status/${status}`);
        await until(async () => (await used()) === 2, 'the two failures');
      }),
  },
  {
    name: 'with count: successes only responses that succeed stay charged',
    run: (start) =>
      counting(start, { count: 'successes' }, async (app, used) => {
        for (const status of [200, 404, 500, 200, 200]) await app.ask(`/status/${status}`);
        await until(async () => (await used()) === 3, 'the three successes');
      }),
  },
  {
    name: 'on a connection that is used again every response is settled once, and refusals are not',
    run: async (start) => {
      const statuses: number[] = [];
      const count = ({ status }: Outcome): number => {
        statuses.push(status);
        return 1;
      };
      // What is left over cannot pay for another request.
      await counting(start, { count, cost: LIMIT - 8 }, async (app) => {
        const expected = Array.from({ length: 9 }, (_, i) => (i % 3 === 0 ? 500 : 200));
        for (const [i, status] of expected.entries()) {
          await app.ask(`/status/${status}`);
          await until(() => statuses.length > i, 'the end of a response');
        }
        assertSame([(await app.ask()).status, (await app.ask()).status], [429, 429]);
        await pause(50);
        assertSame(statuses, expected);
      });
    },
  },
  {
    name: 'a client that leaves inside an answer has aborted it, once',
    isStreamed: true,
    run: async (start) => {
      const outcomes: Outcome[] = [];
      const count = ({ aborted, status }: Outcome): number => {
        outcomes.push({ status, aborted });
        return aborted ? 7 : 1;
      };
      await counting(start, { count, cost: 1 }, async (app, used) => {
        await leave(app, '/endless');
        await until(async () => (await used()) === 7, 'the charge of the client that left');
        assertSame(
          outcomes.map(({ aborted }) => aborted),
          [true],
        );
        assertSame((await app.ask()).body, HELLO, 'the next client is served');
      });
    },
  },
];

/** Whether what is done at the end of a response holds back its parts or not. */
function streams(kind: string, options: Pick<CaseOptions, 'count' | 'cost'>): AdapterCase {
  return {
    name: `a part of an answer that goes on reaches the client at once, ${kind}`,
    isStreamed: true,
    run: (start) =>
      withApp(start, { limits, store: memoryStore(), ...options }, async (app) => {
        const controller = new AbortController();
        let first: unknown;
        const reading = app.open('/endless', { signal: controller.signal }).then(async ({ headers, body }) => {
          const part = await body?.getReader().read();
          first = [new TextDecoder().decode(part?.value), headers.get('ratelimit')?.replace(/;t=.*/, '')];
        });
        reading.catch(() => undefined);
        await until(() => first !== undefined, 'the first part').finally(() => controller.abort());
        assertSame(first, [HELLO, `"${POLICY}";r=${LIMIT - 1}`]);
      }),
  };
}

const parts: readonly AdapterCase[] = [
  streams('where its end changes nothing', {}),
  streams('where its end decides what it costs', { count: () => 1 }),
];

const outages: readonly AdapterCase[] = [
  {
    name: 'in an outage local goes on refusing beyond the limit, and serves until then',
    run: async (start) => {
      const store = faultyStore();
      store.down();
      const few = fixedWindow({ limit: 2, window: '1d', align: 'first-hit' });
      await withApp(start, { limits: few, store, onStoreFailure: 'local', instances: 1 }, async (app) => {
        const answers = [await app.ask(), await app.ask(), await app.ask()];
        assertSame(
          answers.map(({ status }) => status),
          [200, 200, 429],
        );
        assertSame([answers[1]?.body, app.reached], [HELLO, 2]);
        const refusal = answers[2]?.headers.get('retry-after');
        assertTrue(Number(refusal) >= 1, 'a refusal says when to try again');
      });
    },
  },
  {
    name: 'in an outage closed refuses with 503, without figures and without the words of the store',
    run: async (start) => {
      const store = faultyStore();
      store.down();
      await withApp(start, { limits, store, onStoreFailure: 'closed' }, async (app) => {
        const { status, headers, body } = await app.ask();
        assertSame([status, headers.get('retry-after'), headers.get('ratelimit')], [503, '1', null]);
        assertTrue(!body.includes('the store is down'), 'the words of the store stay inside');
        assertSame(app.reached, 0);
      });
    },
  },
  {
    name: 'in an outage open lets requests through, and claims no quota',
    run: async (start) => {
      const store = faultyStore();
      store.freeze();
      await withApp(start, { limits, store, onStoreFailure: 'open', timeoutMs: 20 }, async (app) => {
        const { status, headers, body } = await app.ask();
        assertSame([status, body, headers.get('ratelimit')], [200, HELLO, null]);
      });
    },
  },
  {
    name: 'a client that leaves before the decision harms nobody',
    run: async (start) => {
      const store = faultyStore();
      let came = 0;
      const key = (): string => `client ${++came}`;
      await withApp(start, { limits, store, key, timeoutMs: 5000 }, async (app) => {
        store.freeze();
        const controller = new AbortController();
        const left = app.open('/', { signal: controller.signal }).then(
          () => 'answered',
          () => 'left',
        );
        await until(() => came === 1, 'the request');
        controller.abort();
        assertSame(await left, 'left');
        await pause(20);
        store.up();
        assertSame((await app.ask()).body, HELLO);
      });
    },
  },
];

/** How an adapter ends: responses, clients that leave, and stores that fail. */
export const endChecks: readonly AdapterCase[] = [...settling, ...parts, ...outages];
