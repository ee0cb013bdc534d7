import { type ComportaError, concurrency, memoryStore, slidingWindow } from 'comporta';
import { withRateLimit } from 'comporta/fetch';
import { expect, test } from 'vitest';
import { recorded } from './outcomes.js';
import { items } from './parse.js';
import { ManualClock } from './stores.js';

const limits = slidingWindow({ limit: 2, window: '10s' });
const base = () => ({ limits, store: memoryStore({ clock: new ManualClock() }) });
const get = (url = 'http://a.example/') => new Request(url);

test('the address comes from Deno’s, Bun’s or srvx’s own place', async () => {
  const contexts = [
    [get(), { remoteAddr: { hostname: '203.0.113.1' } }],
    [get(), { requestIP: () => ({ address: '203.0.113.2' }) }],
    [Object.assign(get(), { ip: '203.0.113.3' }), undefined],
  ] as const;
  const subjects: unknown[] = [];
  const onVerdict = ({ decisions }: { decisions: readonly { subject: string }[] }) =>
    subjects.push(decisions[0]?.subject);
  const handler = withRateLimit((_request: Request, _context: unknown) => new Response('x'), { ...base(), onVerdict });
  for (const [request, context] of contexts) await handler(request, context);
  expect(subjects).toEqual(['ip=203.0.113.1', 'ip=203.0.113.2', 'ip=203.0.113.3']);
});

test('without an address, or when reading it fails, requests count as anonymous, reported once', async () => {
  const fail = () => {
    throw new Error('no connection');
  };
  for (const clientAddress of [() => undefined, fail, () => 5 as unknown as string]) {
    const errors: ComportaError[] = [];
    const handler = withRateLimit(() => new Response('x'), {
      ...base(),
      clientAddress,
      onError: (error) => errors.push(error),
    });
    const answers = [await handler(get()), await handler(get()), await handler(get())];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(errors.map(({ code }) => code)).toEqual(['ERR_KEY']);
  }
});

test('responses that cannot be changed are copied, with their status and fields', async () => {
  const clientAddress = () => '203.0.113.1';
  const handler = withRateLimit(() => Response.redirect('http://b.example/', 307), { ...base(), clientAddress });
  const response = await handler(get());
  expect([response.status, response.headers.get('location')]).toEqual([307, 'http://b.example/']);
  expect(items(response.headers.get('ratelimit'))).toEqual({ default: { r: 1, t: 10 } });
});

test('a response without a body and one that is no ordinary response pass', async () => {
  const responses = [new Response(null, { status: 204 }), Response.error()];
  const handler = withRateLimit(() => responses.shift() as Response, { ...base(), clientAddress: () => '203.0.113.1' });
  expect((await handler(get())).status).toBe(204);
  expect((await handler(get())).type).toBe('error');
});

test('wrapped twice, the lists are joined', async () => {
  const clientAddress = () => '203.0.113.1';
  const inner = withRateLimit(() => new Response('x'), { ...base(), name: 'inner', clientAddress });
  const outer = withRateLimit(inner, { ...base(), name: 'outer', clientAddress });
  expect(Object.keys(items((await outer(get())).headers.get('ratelimit')))).toEqual(['inner', 'outer']);
});

test('a refused request never reaches the handler, and a handler’s own error stays its own', async () => {
  let calls = 0;
  const handler = withRateLimit(
    () => {
      calls++;
      throw new RangeError('mine');
    },
    { ...base(), clientAddress: () => '203.0.113.1' },
  );
  await expect(handler(get())).rejects.toThrow(RangeError);
  await expect(handler(get())).rejects.toThrow(RangeError);
  expect((await handler(get())).status).toBe(429);
  expect(calls).toBe(2);
});

test('the host comes from the header, or from the URL where the runtime keeps it there', async () => {
  const match = { hosts: ['a.example'] };
  const handler = withRateLimit(() => new Response('x'), { ...base(), match, clientAddress: () => '203.0.113.1' });
  expect((await handler(get('http://a.example:8080/x'))).headers.has('ratelimit')).toBe(true);
  expect((await handler(get('http://b.example/x'))).headers.has('ratelimit')).toBe(false);
});

test('a handler of Bun that upgraded the connection gives no response, and has ended', async () => {
  const { options, outcomes } = recorded();
  const handler = withRateLimit((): undefined => undefined, { ...options, clientAddress: () => '203.0.113.1' });
  expect((await handler(get())) satisfies Response | undefined).toBe(undefined);
  expect(outcomes).toEqual([{ status: 101, aborted: false }]);
});

test('an error that says its status ends with it, another with 500', async () => {
  const { options, outcomes } = recorded();
  for (const error of [Object.assign(new Error(), { status: 404 }), new Error(), { status: 200 }, null]) {
    const fail = () => Promise.reject(error);
    await withRateLimit(fail, { ...options, clientAddress: () => '203.0.113.1' })(get()).catch(() => undefined);
  }
  expect(outcomes.map(({ status }) => status)).toEqual([404, 500, 500, 500]);
});

test('a response without a body that serves every request is not written to', async () => {
  const shared = new Response(null, { status: 204 });
  const handler = withRateLimit(() => shared, {
    limits: slidingWindow({ limit: 9, window: '10s' }),
    headers: 'legacy',
    key: ({ request }) => request.url,
    clientAddress: () => '203.0.113.1',
  });
  const left = async (path: string) => (await handler(new Request(`http://a.example/${path}`))).headers;
  for (let i = 0; i < 5; i++) await left('alice');
  expect((await left('bob')).get('x-ratelimit-remaining')).toBe('8');
  expect([...shared.headers]).toEqual([]);
});

test.each([
  [
    'a context that throws when it is read',
    {
      get waitUntil(): never {
        throw new Error('gone');
      },
    },
  ],
  ['work that is refused later', { waitUntil: () => Promise.reject(new Error('too late')) }],
])('%s changes nothing about a request, and leaks no place', async (_, context) => {
  const handler = withRateLimit((_request: Request, _context: unknown) => new Response(null, { status: 204 }), {
    limits: concurrency({ limit: 1 }),
    clientAddress: () => '203.0.113.1',
  });
  for (let i = 0; i < 3; i++) expect((await handler(new Request('http://a.example/'), context)).status).toBe(204);
});
