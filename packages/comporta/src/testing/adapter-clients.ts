import { slidingWindow } from '../algorithms/limits.js';
import type { ComportaError } from '../core/errors.js';
import type { Verdict } from '../http/gate.js';
import { memoryStore } from '../stores/memory.js';
import type { Store } from '../stores/store.js';
import { type AdapterCase, HELLO, POLICY, withApp } from './adapter-app.js';
import { assertSame, assertTrue } from './assertion.js';
import { FakeClock } from './fake-clock.js';

const still = (): Store => memoryStore({ clock: new FakeClock() });

const limitOf = (limit: number) => slidingWindow({ limit, window: '10s' });

const fail = (): never => {
  throw new Error('the function of the application failed');
};

const lists: readonly AdapterCase[] = [
  {
    name: 'in shadow mode nobody is refused or told, and every verdict is reported',
    run: async (start) => {
      const verdicts: Verdict[] = [];
      const onVerdict = (verdict: Verdict): void => void verdicts.push(verdict);
      await withApp(start, { limits: limitOf(1), store: still(), shadow: true, onVerdict }, async (app) => {
        const answers = [await app.ask(), await app.ask()];
        assertSame(
          answers.map(({ status, headers }) => [status, headers.get('ratelimit'), headers.get('retry-after')]),
          Array(2).fill([200, null, null]),
        );
        const would = verdicts.map(({ shadowed }) => shadowed.map(({ allowed }) => allowed));
        assertSame(would, [[true], [false]], 'what would have been decided');
      });
    },
  },
  {
    name: 'whom allow names is neither counted nor told, and reaches the application',
    run: (start) => {
      const allow = (view: { header(name: string): readonly string[] }): boolean =>
        view.header('x-friend')[0] === 'yes';
      return withApp(start, { limits: limitOf(1), store: still(), allow }, async (app) => {
        for (let i = 0; i < 3; i++) {
          const { status, body, headers } = await app.ask('/', { headers: { 'X-Friend': 'yes' } });
          assertSame([status, body, headers.get('ratelimit')], [200, HELLO, null]);
        }
        assertSame([(await app.ask()).status, (await app.ask()).status, app.reached], [200, 429, 4]);
      });
    },
  },
  {
    name: 'whom deny names gets 403 and a problem in JSON, and does not reach the application',
    run: (start) => {
      const deny = (view: { header(name: string): readonly string[] }): boolean => view.header('x-foe')[0] === 'yes';
      return withApp(start, { limits: limitOf(1), store: still(), deny }, async (app) => {
        const { status, headers } = await app.ask('/', { headers: { 'x-foe': 'yes' } });
        assertSame([status, headers.get('content-type'), app.reached], [403, 'application/problem+json', 0]);
        assertSame((await app.ask()).status, 200, 'others are served');
      });
    },
  },
];

const functions: readonly AdapterCase[] = [
  {
    name: 'a key function that throws counts the request as anonymous, is reported, and breaks nothing',
    run: async (start) => {
      const errors: ComportaError[] = [];
      const subjects = new Set<string | undefined>();
      const onError = (error: ComportaError): void => void errors.push(error);
      const onVerdict = ({ decisions }: Verdict): void => void subjects.add(decisions[0]?.subject);
      await withApp(start, { limits: limitOf(2), store: still(), key: fail, onError, onVerdict }, async (app) => {
        const answers = [await app.ask(), await app.ask(), await app.ask()];
        assertSame(
          answers.map(({ status }) => status),
          [200, 200, 429],
        );
        assertSame([answers[0]?.body, app.reached, subjects.size], [HELLO, 2, 1]);
        assertTrue(errors.length > 0 && errors.every(({ code }) => code === 'ERR_KEY'), 'the fault is reported');
      });
    },
  },
  {
    name: 'a cost function that throws costs 1, is reported, and breaks nothing',
    run: async (start) => {
      const errors: ComportaError[] = [];
      const onError = (error: ComportaError): void => void errors.push(error);
      await withApp(start, { limits: limitOf(2), store: still(), cost: fail, onError }, async (app) => {
        const { status, headers } = await app.ask();
        assertSame([status, headers.get('ratelimit')?.replace(/;t=.*/, '')], [200, `"${POLICY}";r=1`]);
        assertTrue(errors.length > 0 && errors.every(({ code }) => code === 'ERR_COST'), 'the fault is reported');
      });
    },
  },
];

const requests: readonly AdapterCase[] = [
  {
    name: 'OPTIONS that is no preflight request is counted',
    run: (start) =>
      withApp(start, { limits: limitOf(1), store: still() }, async (app) => {
        assertTrue((await app.ask('/', { method: 'OPTIONS' })).status < 400, 'OPTIONS passes');
        assertSame((await app.ask('/', { method: 'OPTIONS' })).status, 429);
      }),
  },
  {
    name: 'a refused request with a large body gets its refusal, and so does the next',
    run: (start) =>
      withApp(start, { limits: limitOf(0), store: still() }, async (app) => {
        const init = { method: 'POST', body: 'x'.repeat(1_000_000) };
        assertSame([(await app.ask('/', init)).status, (await app.ask('/', init)).status], [429, 429]);
      }),
  },
];

/** Lists of clients, faulty functions of the application, and requests of all kinds. */
export const clientChecks: readonly AdapterCase[] = [...lists, ...functions, ...requests];
