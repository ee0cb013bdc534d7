import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Server, startServer } from '../support/servers.js';
import { bodiesOf, SECRET, startReceiver } from './alerts-support.js';
import { ask } from './api-support.js';
import { makeFolder } from './cli-support.js';
import { connect, publish } from './envoy-support.js';
import { onCleanup, startUpstream, until } from './gateway-support.js';
import { scrape } from './metrics-support.js';
import {
  connection,
  fileOf,
  load,
  policyOf,
  type Running,
  serve,
  running as stillRunning,
  TOKEN,
  valueIn,
} from './workers-support.js';

let redis: Server;
beforeAll(async () => {
  redis = await startServer();
});
afterAll(() => redis.stop());

const authorization = `Bearer ${TOKEN}`;
const REQUESTS = 'comporta_gateway_requests_total{route="/",status="2xx"}';
const REFUSED = 'comporta_gateway_requests_total{route="/",status="4xx"}';

/** A server on the Redis of the file, whose counts are empty. */
async function start(rest: object = {}, folder?: string): Promise<Running> {
  await redis.command('FLUSHALL');
  return serve(fileOf({ store: redis.url, policies: [policyOf(20)], ...rest }), folder);
}

/** So many requests at once, each on a connection of its own; how many were admitted. */
async function admitted(port: number, count: number, path = '/'): Promise<number> {
  const answers = await Promise.all(Array.from({ length: count }, () => ask(port, path)));
  return answers.filter(({ status }) => status === 200).length;
}

/** The first 200 requests of a drained process, held by an upstream that answers when told. */
async function heldUpstream() {
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const { origin, requests } = await startUpstream((_, response) => void held.then(() => response.end('done')));
  return { origin, requests, release };
}

describe('two workers', () => {
  it('count as one, and tell as one what they did', async () => {
    const folder = makeFolder();
    const domain = '{ domain: shop, descriptors: [{ key: k, rate_limit: { unit: day, requests_per_unit: 20 } }] }';
    publish(join(folder, 'shop.yaml'), domain);
    const envoy = { listen: '127.0.0.1:0', config: 'shop.yaml', drainDelay: 0, timeout: '5s' };
    const running = await start({ envoy, accessLog: true }, folder);
    // Longer than a pipe takes at once: lines of two writers would be cut.
    const path = `/${'x'.repeat(5000)}`;
    expect(await admitted(running.port('gateway'), 60, path)).toBe(20);

    const clients = Array.from({ length: 4 }, () => connect(`127.0.0.1:${running.port('envoy')}`));
    const descriptors = [{ entries: [{ key: 'k', value: '' }] }];
    const codes = await Promise.all(
      Array.from(
        { length: 60 },
        async (_, i) => (await clients[i % 4]?.({ domain: 'shop', descriptors }))?.overall_code,
      ),
    );
    expect(codes.filter((code) => code === 'OK')).toHaveLength(20);

    for (let i = 0; i < 4; i++) {
      const [, text] = await scrape(running.port('api'));
      expect([valueIn(text, REQUESTS), valueIn(text, REFUSED)]).toEqual([20, 40]);
      expect(valueIn(text, 'comporta_rls_requests_total{answer="over_limit"}')).toBe(40);
      expect(valueIn(text, 'comporta_gateway_request_duration_seconds_count{route="/"}')).toBe(60);
      expect(valueIn(text, 'comporta_workers')).toBe(2);
    }

    const admin = (what: string) => ask(running.port('admin'), `/admin/${what}`, { headers: { authorization } });
    const body = JSON.stringify({ policy: 'all', subject: 'nobody' });
    const headers = { authorization, 'content-type': 'application/json' };
    for (let i = 0; i < 2; i++)
      await ask(running.port('admin'), '/admin/subjects/reset', { method: 'POST', headers, body });
    for (let i = 0; i < 2; i++) {
      expect((await admin('top?policy=all')).json).toMatchObject({ total: 60, subjects: [{ count: 60, error: 0 }] });
      expect((await admin('top?by=refusals&policy=all')).json).toMatchObject({ total: 40 });
      // Those of Envoy's service too.
      expect((await admin('top')).json).toMatchObject({ total: 120 });
      expect((await admin('audit')).json?.entries).toHaveLength(2);
      expect((await admin('nodes')).json).toMatchObject({ breakers: [], failing: [] });
    }
    expect((await admin('top?policy=al')).status).toBe(404);

    const lines = () =>
      running
        .out()
        .split('\n')
        .filter((line) => line.includes('"door":"gateway"'));
    await until('all lines of the access log', () => lines().length === 60);
    for (const line of lines()) expect(JSON.parse(line)).toMatchObject({ path });
    expect(new Set(lines().map((line) => JSON.parse(line).client)).size).toBe(1);
    expect(running.out()).not.toContain(' on http');
    expect(running.log()).not.toContain(' error ');
  });

  it('share a limit from the first request on when the store is away', async () => {
    const store = await startServer();
    await store.stop();
    const running = await serve(fileOf({ store: store.url, policies: [policyOf(20)] }));
    expect(await admitted(running.port('gateway'), 60)).toBe(20);
  });

  it('take a changed file together, and keep the last good one together', async () => {
    const running = await start();
    expect(await admitted(running.port('gateway'), 30)).toBe(20);
    const changed = (limit: number, more: object = {}) =>
      fileOf({ store: redis.url, policies: [policyOf(limit)], ...more });
    running.write(changed(35));
    await running.logs('configuration reloaded');
    expect(await admitted(running.port('gateway'), 30)).toBe(15);
    running.write(changed(50, { polices: [] }));
    await running.logs('configuration not reloaded');
    running.write(changed(45, { workers: 3 }));
    await running.logs('some changes need a restart');
    expect(running.log()).toContain('restart=workers');
    expect(await admitted(running.port('gateway'), 30)).toBe(10);
    expect(running.log().match(/configuration (not )?reloaded/g)).toHaveLength(3);
    const [, text] = await scrape(running.port('api'));
    expect(valueIn(text, 'comporta_reloads_total{result="good",what="configuration"}')).toBe(2);
    expect(valueIn(text, 'comporta_reloads_total{result="bad",what="configuration"}')).toBe(1);
  });

  it('answer for one that hangs, within a bounded time and without counting back', async () => {
    const running = await start();
    const api = [connection(running.port('api')), connection(running.port('api'))];
    const scraped = async (i: number): Promise<string> => {
      const { body } = await (api[i] as (typeof api)[number]).request({ method: 'GET', path: '/metrics' });
      return body.text();
    };
    await admitted(running.port('gateway'), 10);
    expect(await Promise.all([scraped(0), scraped(1)].map(async (text) => valueIn(await text, REQUESTS)))).toEqual([
      10, 10,
    ]);
    const [hanging = 0] = await running.workers();
    process.kill(hanging, 'SIGSTOP');
    const startMs = performance.now();
    // One of the two connections is with the worker that goes on.
    const text = await Promise.race([scraped(0), scraped(1)]);
    expect(valueIn(text, REQUESTS)).toBe(10);
    expect(performance.now() - startMs).toBeLessThan(2000);
    process.kill(hanging, 'SIGCONT');
  });

  it('lose with one that is killed only what it had in hand', async () => {
    const running = await start({ policies: [policyOf(1_000_000)] });
    const before = await running.workers();
    const loaded = load(running.port('gateway'), 8);
    await until('requests under way', () => loaded.statuses.length > 400);
    process.kill(before[0] ?? 0, 'SIGKILL');
    await running.logs('a worker ended, another one takes its place');
    await until('the other one', async () => {
      return valueIn((await scrape(running.port('api')))[1], 'comporta_workers') === 2;
    });
    await loaded.stop();
    expect(new Set(loaded.statuses)).toEqual(new Set([200]));
    // Some of the connections were with it, and each had one request under way. Of those that come back at once, one
    // may be handed to the dead worker before anybody knows: that one waits for its own time limit.
    expect(loaded.failed.filter((count) => count > 1).length).toBeLessThanOrEqual(1);
    expect(Math.max(...loaded.failed)).toBeLessThanOrEqual(2);
    expect(loaded.failed).toContain(1);
    expect(loaded.failed).toContain(0);
    const after = await running.workers();
    expect(after).toHaveLength(2);
    expect(after).toContain(before[1]);
    expect(valueIn((await scrape(running.port('api')))[1], 'comporta_workers_ended_total')).toBe(1);
  });

  it('finish what is under way when told to stop, and end with 0', async () => {
    const upstream = await heldUpstream();
    const gateway = { listen: '127.0.0.1:0', routes: [{ path: '/', upstream: upstream.origin }] };
    const running = await start({ gateway, policies: [policyOf(1000)] });
    const workers = await running.workers();
    const answers = Array.from({ length: 40 }, () => ask(running.port('gateway'), '/'));
    await until('requests at the upstream', () => upstream.requests.length === 40);
    running.signal('SIGTERM');
    await until('both to drain', async () => {
      const asked = await Promise.all([1, 2].map(() => ask(running.port('api'), '/readyz')));
      return asked.every(({ status }) => status === 503);
    });
    upstream.release();
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(Array(40).fill(200));
    expect(await running.exit).toBe(0);
    expect(await stillRunning(workers)).toEqual([]);
    expect(running.log().match(/stopp(ing|ed)/g)).toHaveLength(2);
  });

  it('send an alert once, and end by themselves when the first process is killed', async () => {
    const store = await startServer();
    onCleanup(() => store.stop());
    const receiver = await startReceiver();
    const sink = { webhook: { url: receiver.origin, secret: SECRET } };
    const alerts = { allowInsecure: true, sinks: [sink] };
    const running = await start({ store: store.url, alerts, policies: [policyOf(1000)] });
    const workers = await running.workers();
    await store.kill();
    await admitted(running.port('gateway'), 20);
    const fired = () => bodiesOf(receiver).filter(({ data }) => data.key === 'store.unavailable:all');
    await until('the alert', () => fired().length > 0);
    await admitted(running.port('gateway'), 20);
    process.kill(running.pid, 'SIGKILL');
    // The pipes close when nobody holds them.
    await running.exit;
    expect(await stillRunning(workers)).toEqual([]);
    expect(fired()).toHaveLength(1);
  });
});

describe('workers that cannot start', () => {
  it('say so as one process does: an address in use, and a store that is not shared', async () => {
    const { server, origin } = await startUpstream();
    const listen = origin.slice('http://'.length);
    const gateway = { listen, routes: [{ path: '/', upstream: 'echo' }] };
    const inUse = await start({ gateway });
    expect(await inUse.exit).toBe(1);
    const what = 'another program uses this port; stop it or choose another port';
    const why = `comporta: cannot listen on ${listen} (gateway.listen): ${what}`;
    expect(inUse.log()).toBe(`${why}\n`);
    server.close();

    const inMemory = await serve(fileOf({ store: 'memory' }));
    expect(await inMemory.exit).toBe(1);
    expect(inMemory.log()).toContain('workers: each worker would count alone');
  });

  it('are cut by a second signal', async () => {
    const upstream = await heldUpstream();
    const gateway = { listen: '127.0.0.1:0', routes: [{ path: '/', upstream: upstream.origin }] };
    const running = await start({ gateway });
    const client = connection(running.port('gateway'));
    client.request({ method: 'GET', path: '/' }).catch(() => undefined);
    await until('a request at the upstream', () => upstream.requests.length === 1);
    running.signal('SIGTERM');
    await running.logs('stopping');
    running.signal('SIGINT');
    expect(await running.exit).toBe(1);
    upstream.release();
  });
});
