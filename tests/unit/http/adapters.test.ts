import { memoryStore, slidingWindow, tokenBucket } from 'comporta';
import type { RateLimitOptions } from 'comporta/http';
import { adapterSuite } from 'comporta/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import { doors, isStreaming } from './doors/index.js';
import { send } from './serve.js';
import { ManualClock } from './stores.js';

const everyDoor = Object.entries(doors).map(([name, open]) => ({ name, open }));

/** Starts an application that answers `hello` everywhere, limited; resolves to its port. */
async function start(open: (typeof doors)[string], options: RateLimitOptions): Promise<number> {
  const { url, close } = await open(options, () => ({ status: 200, body: 'hello', isEndless: false }));
  onTestFinished(close);
  return Number(new URL(url).port);
}

describe.each(everyDoor)('$name', ({ name: door, open }) => {
  const cases = adapterSuite.filter(({ isStreamed }) => isStreamed === undefined || isStreaming(door));
  test.each(cases)('$name', ({ run }) => run(open));
});

test('a refusal is the same at every door, to the byte', async () => {
  const limits = tokenBucket({ capacity: 1, refill: 1, every: '8s' });
  const refusals: unknown[] = [];
  for (const { open } of everyDoor) {
    const port = await start(open, {
      name: 'per-client',
      store: memoryStore({ clock: new ManualClock() }),
      limits,
      headers: ['draft-11', 'legacy'],
    });
    await send(port);
    const { status, headers, body } = await send(port);
    const {
      date: _date,
      Date: _,
      Connection: _c,
      connection: _d,
      'Keep-Alive': _k,
      'X-Powered-By': _x,
      ...fields
    } = headers;
    const { 'Content-Length': length, 'content-length': lower = length, 'Transfer-Encoding': _t, ...own } = fields;
    expect([undefined, `${Buffer.byteLength(body)}`]).toContain(lower);
    refusals.push({ status, body, own });
  }
  expect(refusals[0]).toMatchObject({
    status: 429,
    own: { 'content-type': 'application/problem+json', 'retry-after': '8' },
  });
  for (const refusal of refusals.slice(1)) expect(refusal).toEqual(refusals[0]);
});

test.each(everyDoor)('$name: policies match by method, host and path in any spelling', async ({ open }) => {
  const match = { path: '/a/:id', methods: ['POST'], hosts: ['api.example.com'] };
  const policies = [{ name: 'a', match, key: 'path:id', limits: slidingWindow({ limit: 2, window: '10s' }) }];
  const port = await start(open, { policies, store: memoryStore({ clock: new ManualClock() }) });
  const headers = { host: 'api.example.com:8080' };
  const post = async (path: string) => (await send(port, path, { method: 'POST', headers })).status;
  expect([await post('/a/b'), await post('/A/%62/?x=1'), await post('/a/b;v=1')]).toEqual([200, 200, 429]);
  expect(await post('/a/c')).toBe(200);
  expect((await send(port, '/a/b', { headers })).status).toBe(200);
  expect((await send(port, '/a/b', { method: 'POST' })).status).toBe(200);
});
