import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { concurrency, fixedWindow, memoryStore, slidingWindow } from 'comporta';
import { createGate } from 'comporta/http';
import { describe, expect, onTestFinished, test } from 'vitest';
import { until } from '../../support/wait.js';
import { doors, isStreaming } from './doors/index.js';

const LIMIT = 2;

/** A request that is answered without an end, until it is broken off. */
async function open(url: string): Promise<{ readonly sent: ClientRequest; readonly status: number }> {
  const sent = request(`${url}/endless`, { agent: false }).on('error', () => undefined);
  sent.end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.on('error', () => undefined).resume();
  return { sent, status: response.statusCode ?? 0 };
}

async function statusOf(url: string): Promise<number> {
  const response = await fetch(url, { headers: { connection: 'close' } });
  await response.text();
  return response.status;
}

describe.each(Object.entries(doors))('with a limit of places, %s', (name, start) => {
  async function running() {
    const store = memoryStore();
    const policies = [
      { name: 'places', limits: concurrency({ limit: LIMIT, lease: '1h' }) },
      { name: 'narrow', match: { path: '/narrow' }, limits: fixedWindow({ limit: 1, window: '1d' }) },
    ];
    const app = await start({ policies, store }, (path) => ({
      status: path === '/fails' ? 500 : 200,
      body: 'text',
      isEndless: path === '/endless',
    }));
    onTestFinished(() => app.close());
    return app.url;
  }

  test('lets so many in at once, and the next when a response has ended', async () => {
    const url = await running();
    for (let i = 0; i < 3 * LIMIT; i++) {
      await until(async () => (await statusOf(`${url}/`)) === 200, { what: 'a place after a response' });
      await until(async () => (await statusOf(`${url}/fails`)) === 500, { what: 'a place after a failure' });
    }
  });

  test('keeps the place of a response that goes on, and frees that of a client that has left', async () => {
    if (!isStreaming(name)) return;
    const url = await running();
    const [first, second] = [await open(url), await open(url)];
    expect([first.status, second.status, (await open(url)).status, await statusOf(`${url}/`)]).toEqual([
      200, 200, 429, 429,
    ]);
    first.sent.destroy();
    await until(async () => (await statusOf(`${url}/`)) === 200, { what: 'the place of the client that left' });
    const third = await until(
      async () => {
        const again = await open(url);
        return again.status === 200 && again;
      },
      { what: 'the place of the request that ended' },
    );
    expect(await statusOf(`${url}/`)).toBe(429);
    second.sent.destroy();
    third.sent.destroy();
    await until(async () => (await statusOf(`${url}/`)) === 200, { what: 'both places' });
  });

  test('keeps none for a request that another policy refuses', async () => {
    const url = await running();
    expect(await statusOf(`${url}/narrow`)).toBe(200);
    for (let i = 0; i < 3 * LIMIT; i++) expect(await statusOf(`${url}/narrow`)).toBe(429);
    await until(async () => (await statusOf(`${url}/`)) === 200, { what: 'a place' });
  });
});

const view = { method: 'GET', path: '/', host: '', header: () => [], query: () => [], peerAddress: '192.0.2.1' };

test('a place is freed once, also where the charge is settled as well, and a gate that closes frees all', async () => {
  const store = memoryStore();
  const limits = [concurrency({ limit: 1, lease: '1h' }), slidingWindow({ limit: 9, window: '1h' })];
  const gate = createGate({ policies: [{ name: 'p', limits, cost: 3, count: 'failures' }], store });
  const limiter = gate.limiters.get('p');
  const left = async () => (await limiter?.peek('ip=192.0.2.1', { cost: 0 }))?.limits.map(({ remaining }) => remaining);
  const ask = () => gate.check(view as never);
  const first = await ask();
  expect([first.allowed, (await ask()).allowed, await left()]).toEqual([true, false, [0, 6]]);
  first.finish?.({ status: 200, aborted: false });
  await until(async () => String(await left()) === '1,9', { what: 'all given back' });
  const second = await ask();
  first.finish?.({ status: 200, aborted: true });
  await new Promise(setImmediate);
  expect(await left()).toEqual([0, 6]);
  second.finish?.({ status: 500, aborted: false });
  await until(async () => String(await left()) === '1,6', { what: 'the place, and the charge kept' });
  expect((await ask()).allowed).toBe(true);
  await gate.close();
  const other = createGate({ policies: [{ name: 'p', limits }], store });
  expect((await other.limiters.get('p')?.peek('ip=192.0.2.1', { cost: 0 }))?.limits[0]?.remaining).toBe(1);
  await other.close();
  await store.close();
});

test('a policy without such limits holds nothing, and one whose plans have some does', async () => {
  const bucket = fixedWindow({ limit: 9, window: '1h' });
  const plain = createGate({ policies: [{ name: 'p', limits: bucket }] });
  expect((await plain.check(view as never)).finish).toBeUndefined();
  // A subject may be given such a limit, and this one has none.
  const open = createGate({ policies: [{ name: 'p', limits: bucket, overrides: true }] });
  expect((await open.check(view as never)).finish).toBeUndefined();
  const few = concurrency({ limit: 1 });
  await open.limiters.get('p')?.setOverride('ip=192.0.2.1', { limits: [few] }, '1h');
  expect((await open.check(view as never)).finish).toBeDefined();
  expect((await open.check(view as never)).allowed).toBe(false);
  await open.close();
  const limits = concurrency({ limit: 1 });
  const planned = createGate({ policies: [{ name: 'p', limits: bucket, plans: { few: limits }, plan: () => 'few' }] });
  const verdict = await planned.check(view as never);
  expect([verdict.allowed, (await planned.check(view as never)).allowed]).toEqual([true, false]);
  verdict.finish?.({ status: 200, aborted: false });
  await until(async () => (await planned.check(view as never)).allowed, { what: 'the place' });
  await plain.close();
  await planned.close();
});
