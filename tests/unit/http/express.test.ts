import { EventEmitter, once } from 'node:events';
import { connect } from 'node:net';
import { type ComportaError, memoryStore, slidingWindow } from 'comporta';
import { type ExpressRequest, rateLimit } from 'comporta/express';
import type { RequestView, Verdict } from 'comporta/http';
import express, { type Request } from 'express';
import { expect, test } from 'vitest';
import { items } from './parse.js';
import { send, serve } from './serve.js';
import { lateStore, ManualClock } from './stores.js';

const limits = slidingWindow({ limit: 2, window: '10s' });
const store = () => memoryStore({ clock: new ManualClock() });

test('mounted twice, a limiter counts once and says so once', async () => {
  const errors: ComportaError[] = [];
  const limiter = rateLimit({ limits, store: store(), onError: (error) => errors.push(error) });
  const port = await serve(express().use(limiter).use('/', limiter));
  const statuses = [(await send(port)).status, (await send(port)).status, (await send(port)).status];
  expect(statuses).toEqual([404, 404, 429]);
  expect(errors.map(({ message }) => message)).toEqual([expect.stringContaining('counted once')]);
});

test('stacked limiters share one list, and the refusing inner one is seen', async () => {
  const outer = rateLimit({ name: 'outer', limits: slidingWindow({ limit: 100, window: '10s' }), store: store() });
  const inner = rateLimit({ name: 'inner', limits, store: store(), headers: ['draft-11', 'legacy'] });
  const port = await serve(express().use(outer, inner));
  await send(port);
  await send(port);
  const { status, headers } = await send(port);
  expect(status).toBe(429);
  expect(items(headers.ratelimit)).toMatchObject({ outer: { r: 97 }, inner: { r: 0 } });
  expect(Object.keys(items(headers['ratelimit-policy']))).toEqual(['outer', 'inner']);
  expect(headers['x-ratelimit-remaining']).toBe('0');
});

test('an inner limiter with more left does not hide what the outer one says', async () => {
  const outer = rateLimit({ name: 'outer', limits, store: store(), headers: 'legacy' });
  const inner = rateLimit({
    name: 'inner',
    limits: slidingWindow({ limit: 100, window: '1s' }),
    store: store(),
    headers: 'legacy',
  });
  const port = await serve(express().use(outer, inner));
  expect((await send(port)).headers).toMatchObject({ 'x-ratelimit-limit': '2', 'x-ratelimit-remaining': '1' });
});

test('a refusal passes through the CORS layer mounted before it', async () => {
  const app = express();
  app.use((_request, response, next) => {
    response.set('Access-Control-Allow-Origin', '*');
    next();
  });
  const port = await serve(app.use(rateLimit({ limits, store: store() })));
  for (let i = 0; i < 2; i++) await send(port);
  const { status, headers } = await send(port, '/', { headers: { origin: 'https://a.example' } });
  expect([status, headers['Access-Control-Allow-Origin']]).toEqual([429, '*']);
});

test('in a mounted router the whole path counts, and in a route its template', async () => {
  const views: unknown[] = [];
  const onVerdict = (_: Verdict, { method, url, route, peerAddress }: RequestView<Request>) => {
    views.push([method, url, route, peerAddress]);
  };
  const router = express.Router();
  const perUser = rateLimit<Request>({
    name: 'u',
    match: { path: '/api/users/:id' },
    key: 'path:id',
    limits,
    store: store(),
    onVerdict,
  });
  router.get('/users/:id', perUser, (_request, response) => void response.send('user'));
  const port = await serve(express().use('/api', router));
  expect(
    [await send(port, '/api/users/1'), await send(port, '/api/users/1?x'), await send(port, '/api/users/1/')].map(
      ({ status }) => status,
    ),
  ).toEqual([200, 200, 429]);
  expect((await send(port, '/api/users/2')).status).toBe(200);
  expect(views[0]).toEqual(['GET', '/api/users/1', '/api/users/:id', '127.0.0.1']);
});

test('key and cost functions get Express’s own request', async () => {
  const limiter = rateLimit({
    limits: slidingWindow({ limit: 5, window: '10s' }),
    store: store(),
    key: ({ request }) => request.get('x-user'),
    cost: ({ request }) => (request.path === '/search' ? 5 : 1),
  });
  const port = await serve(express().use(limiter));
  const ask = async (path: string, user: string) => (await send(port, path, { headers: { 'x-user': user } })).status;
  expect([await ask('/search', 'a'), await ask('/', 'a'), await ask('/', 'b'), await ask('/search', 'b')]).toEqual([
    404, 429, 404, 429,
  ]);
});

/** A response as far as the limiter sees it, in a state of its life. */
function responseIn(state: object): { readonly written: string[]; readonly response: never } {
  const written: string[] = [];
  const note = (...parts: unknown[]) => written.push(parts.join(' '));
  const open = {
    headersSent: false,
    writableEnded: false,
    destroyed: false,
    getHeader: () => undefined,
    setHeader: note,
    end: note,
  };
  return { written, response: { ...open, ...state } as never };
}

const request = () => ({ method: 'GET', url: '/', headers: {}, socket: { remoteAddress: '203.0.113.1' } });
const broken = () => {
  throw new Error('stream gone');
};

test.each([
  ['already sent', { headersSent: true }],
  ['ended', { writableEnded: true }],
  ['of a client that is gone', { destroyed: true }],
  ['that fails when written to', { setHeader: broken }],
  ['that lacks everything', { getHeader: undefined, setHeader: undefined, end: undefined }],
])('a response %s breaks nothing, and the verdict still stands', (_, state) => {
  const verdicts: boolean[] = [];
  const limiter = rateLimit<ExpressRequest>({
    limits,
    store: store(),
    onVerdict: ({ allowed }) => verdicts.push(allowed),
  });
  let passed = 0;
  const { written, response } = responseIn(state);
  for (let i = 0; i < 3; i++) limiter(request(), response, () => passed++);
  expect(verdicts).toEqual([true, true, false]);
  expect([passed, written]).toEqual([2, []]);
});

test('requests without headers of their own, socket or response context do not throw', () => {
  const limiter = rateLimit<ExpressRequest>({ limits, store: store(), onError: () => undefined });
  const bare = { headers: {}, socket: null };
  let passed = 0;
  for (let i = 0; i < 3; i++) limiter({ ...bare }, undefined as never, () => passed++);
  expect(passed).toBe(2);
});

test('an error of a later handler is not swallowed', () => {
  const limiter = rateLimit<ExpressRequest>({ limits, store: store() });
  expect(() => limiter(request(), responseIn({}).response, broken)).toThrow('stream gone');
});

test('a client that leaves before the verdict crashes nothing', async () => {
  const gone = new EventEmitter();
  const clock = new ManualClock();
  const app = express();
  app.use((incoming, _response, next) => {
    // The verdict comes after the client has gone: the answer has nobody to go to.
    incoming.socket.once('close', () => next());
    incoming.socket.resetAndDestroy();
  });
  app.use(
    rateLimit({
      limits: slidingWindow({ limit: 0, window: '10s' }),
      store: lateStore(clock),
      onVerdict: () => gone.emit('verdict'),
      onError: () => undefined,
    }),
  );
  const port = await serve(app);
  const client = connect(port, '127.0.0.1').on('error', () => undefined);
  client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await once(gone, 'verdict');
  client.destroy();
});

test('a refusal of a request that is being answered already cuts the answer, which nobody else would end', async () => {
  const app = express();
  app.use((_request, response, next) => {
    response.writeHead(200).write('part');
    next();
  });
  app.use(rateLimit({ limits: slidingWindow({ limit: 0, window: '10s' }), store: store() }));
  app.use((_request, response) => void response.end());
  const port = await serve(app);
  await expect(fetch(`http://127.0.0.1:${port}/`).then((response) => response.text())).rejects.toThrow(
    /terminated|fetch failed/,
  );
});
