import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { memoryStore } from 'comporta';
import { expect, onTestFinished, test } from 'vitest';
import { Alerts } from '../../../packages/server/src/alerts/alerts.js';
import { startApp } from '../../../packages/server/src/app.js';
import { Engine } from '../../../packages/server/src/engine/engine.js';
import type { Rules } from '../../../packages/server/src/engine/rules.js';
import { StoreWatch } from '../../../packages/server/src/health/store-watch.js';
import { createMetrics } from '../../../packages/server/src/metrics/metrics.js';
import { apiFile, running } from '../../e2e/api-support.js';
import { configOf, recordLog } from '../../e2e/gateway-support.js';

const configWith = (limit: number) =>
  configOf(apiFile({}, { policies: [{ name: 'shared', limits: { fixedWindow: { limit, window: '1d' } } }] }));

function startEngine(limit: number) {
  const { log } = recordLog();
  const store = memoryStore();
  const alerts = new Alerts({ config: undefined, instance: 'test', log });
  const options = { store, watch: new StoreWatch(store, log), alerts, metrics: createMetrics(), log };
  const engine = new Engine(configWith(limit), options);
  onTestFinished(async () => {
    await engine.close();
    await store.close();
  });
  return engine;
}

const consume = async ({ gate }: Rules): Promise<number | undefined> =>
  (await gate?.limiters.get('shared')?.consume('a'))?.limits[0]?.limit;

test('rules that a door cannot take are closed, and the doors before it get the old ones back', async () => {
  const engine = startEngine(5);
  const old = engine.rules;
  const taken: Rules[] = [];
  const take = (_: unknown, rules: Rules): void => {
    taken.push(rules);
    if (rules !== old) throw new Error('this door has no room');
  };
  expect(() => engine.apply(configWith(7), take)).toThrow('this door has no room');
  expect([engine.rules, taken.at(-1)]).toEqual([old, old]);
  expect(await consume(old)).toBe(5);
  await expect(consume(taken[0] as Rules)).rejects.toMatchObject({ code: 'ERR_CLOSED' });
});

test('a door that cannot take back what it has does not hide why it failed', async () => {
  const engine = startEngine(5);
  let times = 0;
  const fail = (): void => {
    throw new Error(`fault ${++times}`);
  };
  expect(() => engine.apply(configWith(7), fail)).toThrow('fault 1');
  expect(await consume(engine.rules)).toBe(5);
});

test('a process whose domains broke meanwhile goes on with all of the old configuration', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'comporta-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'shop.yaml');
  writeFileSync(file, 'domain: shop\ndescriptors: [{ key: user, rate_limit: { requests_per_unit: 1, unit: day } }]\n');
  const fileOf = (capacity: number) => {
    const limits = { tokenBucket: { capacity, refill: 1, every: '1d' } };
    const policies = [{ name: 'per-key', key: 'header:x-api-key', limits }];
    return configOf(apiFile({}, { policies, envoy: { listen: '127.0.0.1:0', config: file, drainDelay: 0 } }));
  };
  const { log, lines } = recordLog();
  const app = await startApp(fileOf(3), log);
  onTestFinished(() => app.stop());
  const { post } = running(app, lines);
  const next = fileOf(9);
  rmSync(file);
  expect(() => app.apply(next)).toThrow(file);
  const { json } = await post('/v1/consume', { policy: 'per-key', subject: ['k'] });
  expect(json).toMatchObject({ allowed: true, limits: [{ limit: 3, remaining: 2 }] });
});
