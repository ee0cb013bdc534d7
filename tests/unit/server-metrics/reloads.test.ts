import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { memoryStore } from 'comporta';
import { expect, onTestFinished, test } from 'vitest';
import { HttpListener } from '../../../packages/server/src/api/http-listener.js';
import type { TlsTexts } from '../../../packages/server/src/config/store.js';
import { InForce } from '../../../packages/server/src/envoy/in-force.js';
import { createMetrics } from '../../../packages/server/src/metrics/metrics.js';
import { metricsText } from '../../../packages/server/src/metrics/text.js';
import { configIn } from '../../e2e/envoy-support.js';
import { recordLog } from '../../e2e/gateway-support.js';

const WHAT = ['configuration', 'domains', 'certificate'];

function watched() {
  const metrics = createMetrics();
  onTestFinished(() => metrics.close());
  const lines = (name: string) =>
    metricsText(metrics.entries(), undefined)
      .body.split('\n')
      .filter((line) => line.startsWith(`comporta_${name}{`));
  return { metrics, lines };
}

test('every reload has its series before the first one', () => {
  const { lines } = watched();
  const of = (result: string) => WHAT.map((what) => `comporta_reloads_total{result="${result}",what="${what}"} 0`);
  expect(lines('reloads_total').sort()).toEqual([...of('good'), ...of('bad')].sort());
  expect(lines('reload_failing')).toEqual(WHAT.map((what) => `comporta_reload_failing{what="${what}"} 0`));
});

test('what cannot be used is told until it can: of several certificates, until all can', () => {
  const { metrics, lines } = watched();
  metrics.reloaded('api.tls', false);
  metrics.reloaded('admin.tls', false);
  metrics.reloaded('configuration', true);
  metrics.reloaded('api.tls', true);
  expect(lines('reload_failing')).toContain('comporta_reload_failing{what="certificate"} 1');
  metrics.reloaded('admin.tls', true);
  expect(lines('reload_failing')).toContain('comporta_reload_failing{what="certificate"} 0');
  expect(lines('reloads_total')).toContain('comporta_reloads_total{result="bad",what="certificate"} 2');
  expect(lines('reloads_total')).toContain('comporta_reloads_total{result="good",what="certificate"} 2');
});

test('domains that a reload of the configuration has mended fail no more', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'comporta-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const good = 'domain: shop\n';
  const config = configIn(folder, [good]);
  const told: boolean[] = [];
  const inForce = new InForce(config, {
    store: memoryStore(),
    log: recordLog().log,
    onLimiter: () => () => undefined,
    onReload: (isGood) => void told.push(isGood),
  });
  writeFileSync(join(folder, 'domain-0.yaml'), 'dommain: shop\n');
  inForce.reload();
  writeFileSync(join(folder, 'domain-0.yaml'), good);
  inForce.apply(config);
  inForce.reload();
  expect(told).toEqual([false, true]);
  await inForce.close();
});

test('a certificate is told of once when it fails, and once when it is good again', async () => {
  const told: boolean[] = [];
  const { log, lines } = recordLog();
  const { renew, drain } = listener((isGood) => void told.push(isGood), log);
  renew(() => ({}));
  expect(told).toEqual([]);
  const missing = (): TlsTexts => {
    throw new Error('api.tls.cert: there is no such file');
  };
  for (const reread of [missing, missing, () => ({})]) renew(reread);
  expect(told).toEqual([false, true]);
  for (let i = 0; i < 2; i++) renew(() => ({ cert: 'no certificate' }));
  renew(() => ({}));
  expect(told).toEqual([false, true, false, true]);
  expect(lines.filter((line) => line.includes('not renewed'))).toHaveLength(2);
  await drain();
});

function listener(onReload: (isGood: boolean) => void, log: ReturnType<typeof recordLog>['log']) {
  const times = { requestTimeout: 1000, idleTimeout: 1000 };
  const tls = { reread: () => ({}) };
  const made = new HttpListener({ name: 'API', tls, ...times, receive: () => undefined, log, onReload });
  return {
    renew: (reread: () => TlsTexts) => made.replaceTls({ reread }),
    drain: () => made.drain(true),
  };
}
