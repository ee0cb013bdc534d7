import { slidingWindow } from '../algorithms/limits.js';
import { memoryStore } from '../stores/memory.js';
import type { Store } from '../stores/store.js';
import { type AdapterCase, HELLO, POLICY, withApp } from './adapter-app.js';
import { clientChecks } from './adapter-clients.js';
import { endChecks } from './adapter-ends.js';
import { fieldChecks } from './adapter-fields.js';
import { assertRejects, assertSame, assertTrue } from './assertion.js';
import { FakeClock } from './fake-clock.js';
import { faultyStore } from './faulty-store.js';

export type { AdapterCase, StartApp, StartedApp, SuiteAnswer } from './adapter-app.js';

/** A store in which no time passes, so that every figure is known. */
const still = (): Store => memoryStore({ clock: new FakeClock() });

const limitOf = (limit: number) => slidingWindow({ limit, window: '10s' });

/** Answers as Redis does: later. */
function distantStore(): Store {
  const store = faultyStore();
  store.slow(5);
  return store;
}

function admitsThenRefuses(when: string, store: () => Store): AdapterCase {
  return {
    name: `a store that answers ${when}: requests pass until the limit, then are refused and do not get through`,
    run: (start) =>
      withApp(start, { limits: limitOf(2), store: store(), timeoutMs: 5000 }, async (app) => {
        const answers = [await app.ask(), await app.ask(), await app.ask()];
        assertSame(
          answers.map(({ status }) => status),
          [200, 200, 429],
        );
        assertSame([answers[0]?.body, answers[1]?.body, app.reached], [HELLO, HELLO, 2]);
        const said = (name: string): (string | null | undefined)[] => answers.map(({ headers }) => headers.get(name));
        assertSame(said('ratelimit-policy'), Array(3).fill(`"${POLICY}";q=2;w=10`));
        assertSame(
          said('ratelimit').map((value) => value?.replace(/;t=.*/, '')),
          [`"${POLICY}";r=1`, `"${POLICY}";r=0`, `"${POLICY}";r=0`],
        );
        assertSame([said('retry-after')[0], said('retry-after')[1]], [null, null]);
        assertTrue(Number(said('retry-after')[2]) >= 1, 'a refusal says when to try again, in whole seconds');
      }),
  };
}

const answers: readonly AdapterCase[] = [
  admitsThenRefuses('at once', still),
  admitsThenRefuses('later', distantStore),
  {
    name: 'a refusal is a problem in JSON that no cache keeps',
    run: (start) =>
      withApp(start, { limits: limitOf(0), store: still() }, async (app) => {
        const { headers, body } = await app.ask();
        assertSame(headers.get('content-type'), 'application/problem+json');
        assertSame(headers.get('cache-control'), 'no-store');
        const problem = JSON.parse(body) as Record<string, unknown>;
        assertSame([problem.status, problem['violated-policies']], [429, [POLICY]]);
        assertSame(
          ['type', 'title', 'detail'].map((name) => typeof problem[name]),
          Array(3).fill('string'),
        );
      }),
  },
  {
    name: 'HEAD is counted, and refused without a body',
    run: (start) =>
      withApp(start, { limits: limitOf(1), store: still() }, async (app) => {
        const [passed, refused] = [await app.ask('/', { method: 'HEAD' }), await app.ask('/', { method: 'HEAD' })];
        assertSame([passed.status, passed.body, refused.status, refused.body], [200, '', 429, '']);
        assertSame(refused.headers.get('retry-after'), '10');
      }),
  },
  {
    name: 'preflight requests of browsers pass uncounted',
    run: (start) =>
      withApp(start, { limits: limitOf(1), store: still() }, async (app) => {
        const headers = { origin: 'https://a.example', 'access-control-request-method': 'PUT' };
        for (let i = 0; i < 3; i++) {
          const { status } = await app.ask('/', { method: 'OPTIONS', headers });
          assertTrue(status < 400, `a preflight request got ${status}`);
        }
        assertSame((await app.ask()).status, 200);
      }),
  },
  {
    name: 'of requests made at once exactly the limit passes',
    run: (start) =>
      withApp(start, { limits: limitOf(5), store: distantStore(), timeoutMs: 5000 }, async (app) => {
        const all = await Promise.all(Array.from({ length: 20 }, () => app.ask()));
        assertSame(all.filter(({ status }) => status === 200).length, 5);
        assertSame(all.filter(({ status }) => status === 429).length, 15);
        assertSame(app.reached, 5);
      }),
  },
];

const doors: readonly AdapterCase[] = [
  {
    name: 'policies meet the method and the path as the client sent them, and a key of the path keeps clients apart',
    run: (start) => {
      const match = { path: '/users/:id', methods: ['POST'] };
      return withApp(start, { limits: limitOf(2), store: still(), match, key: 'path:id' }, async (app) => {
        const post = async (path: string): Promise<number> => (await app.ask(path, { method: 'POST' })).status;
        const all = [await post('/users/b'), await post('/users/%62?x=1'), await post('/users/b')];
        assertSame(all, [200, 200, 429]);
        assertSame([await post('/users/c'), (await app.ask('/users/b')).status], [200, 200]);
      });
    },
  },
  {
    name: 'behind a trusted proxy the client is the one that the proxy names',
    run: (start) =>
      withApp(start, { limits: limitOf(1), store: still(), trustedProxies: ['loopback'] }, async (app) => {
        const from = async (value: string): Promise<number> =>
          (await app.ask('/', { headers: { 'x-forwarded-for': value } })).status;
        assertSame([await from('1.1.1.1, 7.7.7.7'), await from('2.2.2.2, 7.7.7.7')], [200, 429]);
        assertSame([await from('8.8.8.8'), await from('7.7.7.7, 9.9.9.9')], [200, 200]);
      }),
  },
  {
    name: 'without a trusted proxy the client is the peer of the connection, whatever it claims',
    run: (start) =>
      withApp(start, { limits: limitOf(1), store: still() }, async (app) => {
        const from = async (value: string): Promise<number> =>
          (await app.ask('/', { headers: { 'x-forwarded-for': value } })).status;
        assertSame([await from('1.1.1.1'), await from('2.2.2.2')], [200, 429]);
      }),
  },
  {
    name: 'wrong options are errors when the adapter is made',
    run: async (start) => {
      const wrong = { limits: limitOf(1), store: still(), limit: 5 };
      await assertRejects(
        withApp(start, wrong, async () => undefined),
        'ERR_OPTION',
      );
    },
  },
];

/**
 * What every adapter of a framework must do, for any test runner; over real connections, with the global
 * `fetch` as the client.
 */
export const adapterSuite: readonly AdapterCase[] = [
  ...answers,
  ...fieldChecks,
  ...doors,
  ...clientChecks,
  ...endChecks,
];
