import { tokenBucket } from 'comporta';
import { createGate } from 'comporta/http';
import { redisStore } from 'comporta/redis';
import { request } from 'undici';
import { describe, expect, it } from 'vitest';
import { Alerts } from '../../packages/server/src/alerts/alerts.js';
import { freePort } from '../support/ports.js';
import { startServer } from '../support/servers.js';
import { bodiesOf, fastClock, isSigned, type Receiver, SECRET, startReceiver } from './alerts-support.js';
import {
  configOf,
  gatewayFile,
  onCleanup,
  policyOf,
  type Running,
  recordLog,
  startGateway,
  until,
} from './gateway-support.js';

const STORE = 'store.unavailable:per-client';
const BREAKER = 'breaker.open:redis';

async function ask({ origin }: Running): Promise<number> {
  const startedMs = performance.now();
  const { body } = await request(origin);
  await body.dump();
  return performance.now() - startedMs;
}

const toldOf = (receiver: Receiver): readonly string[] =>
  bodiesOf(receiver).map(({ data }) => `${data.status} ${data.key}`);

function alertsOf(sinks: readonly object[], more: object = {}): object {
  return { allowInsecure: true, sinks, ...more };
}

const webhook = ({ origin }: Receiver): object => ({ webhook: { url: `${origin}/hook`, secret: SECRET } });

describe('a gateway with alerts', () => {
  it('tells every sink of an outage once and of its end once, while hanging sinks cost nothing', async () => {
    const redis = await startServer();
    onCleanup(() => redis.stop());
    const [hook, slack, pager, manager, hanging] = await Promise.all([
      startReceiver(),
      startReceiver(),
      startReceiver((response) => void response.writeHead(202).end()),
      startReceiver(),
      startReceiver(() => undefined),
    ]);
    const sinks = [
      webhook(hanging),
      webhook(hook),
      { slack: { url: `${slack.origin}/services/x` } },
      { pagerduty: { routingKey: 'hidden-key', url: pager.origin } },
      { alertmanager: { url: manager.origin } },
    ];
    const file = { store: redis.url, alerts: alertsOf(sinks), policies: [policyOf(1000)] };
    const gateway = await startGateway(gatewayFile('echo', {}, file));
    await ask(gateway);
    await redis.kill();
    const times: number[] = [];
    await until('both alerts', async () => {
      times.push(await ask(gateway));
      return hook.received.length === 2;
    });
    await redis.start();
    // Nobody asks any more: the end is found all the same.
    await until('the end of both', () => hook.received.length === 4, 20_000);
    expect(toldOf(hook)).toEqual([`firing ${STORE}`, `firing ${BREAKER}`, ...toldOf(hook).slice(2)]);
    expect(toldOf(hook).slice(2).sort()).toEqual([`resolved ${BREAKER}`, `resolved ${STORE}`]);
    expect(hook.received.every(isSigned)).toBe(true);
    expect(new Set(hook.received.map(({ headers }) => headers['webhook-id'])).size).toBe(4);
    const others = [slack, pager, manager];
    await until('all sinks', () => others.every(({ received }) => received.length >= 4));
    expect(others.map(({ received }) => received.length)).toEqual([4, 4, 4]);
    expect(pager.received.map(({ body }) => JSON.parse(body).event_action).sort()).toEqual([
      ...['resolve', 'resolve', 'trigger', 'trigger'],
    ]);
    expect(manager.received[0]?.path).toBe('/api/v2/alerts');
    expect(hanging.received.length).toBeGreaterThan(0);
    expect(times.sort((a, b) => a - b)[Math.floor(times.length * 0.9)]).toBeLessThan(200);
    expect(gateway.lines.join('\n')).not.toMatch(/hidden-key|whsec|\/services/);
  });

  it('says nothing of a blip', async () => {
    const redis = await startServer();
    onCleanup(() => redis.stop());
    const hook = await startReceiver();
    const file = { store: redis.url, alerts: alertsOf([webhook(hook)]), policies: [policyOf(1000)] };
    const gateway = await startGateway(gatewayFile('echo', {}, file));
    redis.freeze();
    await until('a failure', async () => {
      await ask(gateway);
      return gateway.lines.some((line) => line.includes('does not answer'));
    });
    redis.thaw();
    const startedMs = performance.now();
    await until('recovery', () => gateway.lines.some((line) => line.includes('answers again')));
    await until('the time in which an alert would come', () => performance.now() - startedMs > 3000);
    expect(hook.received).toEqual([]);
  });

  it('tells at once of a store that refuses calls, and keeps the alert over a reload', async () => {
    const redis = await startServer();
    onCleanup(() => redis.stop());
    const hook = await startReceiver();
    const file = gatewayFile(
      'echo',
      {},
      { store: redis.url, alerts: alertsOf([webhook(hook)]), policies: [policyOf(9)] },
    );
    const gateway = await startGateway(file);
    await redis.command('ACL', 'SETUSER', 'default', '-evalsha', '-eval');
    await ask(gateway);
    await until('the alert', () => hook.received.length === 1, 2000);
    expect(toldOf(hook)).toEqual(['firing store.misconfigured:per-client']);
    expect(JSON.parse(hook.received[0]?.body ?? '').data.severity).toBe('critical');
    gateway.app.apply(configOf(file));
    const startedMs = performance.now();
    await until('the time in which an end would be told', () => performance.now() - startedMs > 6500);
    expect(hook.received).toHaveLength(1);
    await redis.command('ACL', 'SETUSER', 'default', '+evalsha', '+eval');
    await until('its end', () => hook.received.length === 2, 20_000);
    expect(toldOf(hook)[1]).toBe('resolved store.misconfigured:per-client');
  });

  it('tells of an alert that is on after its sink has come back', async () => {
    const redis = await startServer();
    onCleanup(() => redis.stop());
    const hook = await startReceiver((response, n) => void response.writeHead(n < 3 ? 500 : 200).end());
    const file = { store: redis.url, alerts: alertsOf([webhook(hook)]), policies: [policyOf(9)] };
    const gateway = await startGateway(gatewayFile('echo', {}, file));
    await redis.kill();
    await ask(gateway);
    await until('three attempts', () => hook.received.length === 3, 20_000);
    expect(new Set(hook.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  });

  it('ends the alert of a policy that a reload removes', async () => {
    const redis = await startServer();
    onCleanup(() => redis.stop());
    const hook = await startReceiver();
    const file = { store: redis.url, alerts: alertsOf([webhook(hook)]) };
    const gateway = await startGateway(gatewayFile('echo', {}, { ...file, policies: [policyOf(9)] }));
    await redis.kill();
    await ask(gateway);
    await until('the alert', () => hook.received.length === 1);
    gateway.app.apply(configOf(gatewayFile('echo', {}, { ...file, policies: [] })));
    await until('its end', () => toldOf(hook).includes(`resolved ${STORE}`), 20_000);
  });

  it('takes new sinks with a reload, and tells them of the end', async () => {
    const redis = await startServer();
    onCleanup(() => redis.stop());
    const [before, after] = [await startReceiver(), await startReceiver()];
    const file = (sinks: readonly object[]) =>
      gatewayFile('echo', {}, { store: redis.url, alerts: alertsOf(sinks), policies: [policyOf(9)] });
    const gateway = await startGateway(file([webhook(before)]));
    await redis.kill();
    await ask(gateway);
    await until('the alert', () => before.received.length === 1);
    gateway.app.apply(configOf(file([{ slack: { url: after.origin } }])));
    await redis.start();
    await until('its end', () => after.received.length >= 1, 20_000);
    expect(after.received[0]?.body).toContain('RESOLVED');
    expect(before.received).toHaveLength(1);
  });

  it('sends what is still on to an Alertmanager again and again, and to others once', async () => {
    const [hook, manager] = [await startReceiver(), await startReceiver()];
    const sinks = [
      { kind: 'webhook', url: hook.origin, secret: SECRET },
      { kind: 'alertmanager', url: manager.origin },
    ] as const;
    const store = redisStore(`redis://127.0.0.1:${await freePort()}`);
    const limits = tokenBucket({ capacity: 1, refill: 1, every: '1s' });
    const gate = createGate({ store, policies: [{ name: 'a', limits }] });
    const config = { cooldown: 300_000, allowInsecure: true, sinks };
    const alerts = new Alerts({ config, instance: 'a', log: recordLog().log, clock: fastClock(50) });
    alerts.follow(gate);
    onCleanup(() => Promise.all([alerts.close(), gate.close(), store.close()]));
    await gate.limiters.get('a')?.consume('x');
    const resent = (): readonly string[] =>
      manager.received.map(({ body }) => body).filter((body) => body.includes('ComportaStoreUnavailable'));
    await until('three tellings', () => resent().length >= 3);
    expect(new Set(resent()).size).toBe(1);
    expect(toldOf(hook).filter((told) => told.includes('store.unavailable'))).toEqual(['firing store.unavailable:a']);
  });

  it('stops in time when a sink hangs', async () => {
    const redis = await startServer();
    onCleanup(() => redis.stop());
    const hook = await startReceiver(() => undefined);
    const file = { store: redis.url, alerts: alertsOf([webhook(hook)]), policies: [policyOf(9)] };
    const gateway = await startGateway(gatewayFile('echo', {}, file));
    await redis.kill();
    await ask(gateway);
    await until('the alert', () => hook.received.length === 1);
    const startedMs = performance.now();
    await gateway.app.stop();
    expect(performance.now() - startedMs).toBeLessThan(4000);
  });
});
