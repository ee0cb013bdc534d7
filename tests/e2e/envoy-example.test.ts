import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startApp } from '../../packages/server/src/app.js';
import { loadFile } from '../../packages/server/src/config/file.js';
import { startServer } from '../support/servers.js';
import { SECRET, startReceiver } from './alerts-support.js';
import { makeFolder, root } from './cli-support.js';
import { configIn, connect, of } from './envoy-support.js';
import { recordLog } from './gateway-support.js';

const read = (name: string): string => readFileSync(join(root, name), 'utf8');
const linesOf = (text: string): string[] =>
  text.split('\n').flatMap(
    (line) =>
      line
        .replace(/(^|\s)#.*$/, '')
        .trim()
        .replace(/^- /, '') || [],
  );

test('the example may run', () => {
  const content = loadFile(join(root, 'examples/envoy/comporta.yaml'), {});
  expect(content).not.toHaveProperty('problems');
});

test('what the page shows of Envoy is what the example has, and what a real Envoy is tested with', () => {
  const [minimal = ''] = /## Minimal use.*?## Full use/s.exec(read('docs/envoy.md')) ?? [];
  const shown = [...minimal.matchAll(/^```yaml\n(.*?)^```$/gms)].flatMap(([, text = '']) => linesOf(text));
  const files = ['comporta.yaml', 'domains/shop.yaml', 'envoy.yaml'].map((name) => read(`examples/envoy/${name}`));
  const known = new Set(files.flatMap(linesOf));
  expect(shown.length).toBeGreaterThan(40);
  expect(shown.filter((line) => !known.has(line))).toEqual([]);
});

test('an outage that only Envoy’s service notices is told to people, and its end too', async () => {
  const receiver = await startReceiver();
  const redis = await startServer();
  onTestFinished(() => redis.stop());
  const webhook = { url: receiver.origin, secret: SECRET };
  const rest = { store: redis.url, alerts: { allowInsecure: true, sinks: [{ webhook }] } };
  const shop = 'domain: shop\ndescriptors: [{ key: user, rate_limit: { requests_per_unit: 5, unit: day } }]\n';
  const app = await startApp(configIn(makeFolder(), [shop], { timeout: '1s' }, rest), recordLog().log);
  onTestFinished(() => app.stop());
  const ask = connect(`127.0.0.1:${app.envoy?.port}`);
  const request = { domain: 'shop', descriptors: of('user=a') };
  await ask(request);
  await redis.kill();
  expect((await ask(request)).dynamic_metadata?.fields.degraded?.stringValue).toBe('local');
  const has = (...words: readonly string[]) =>
    receiver.received.some(({ body }) => words.every((word) => body.includes(word)));
  await expect.poll(() => has('store.unavailable', 'rls.shop', 'firing'), { timeout: 10_000 }).toBe(true);
  await redis.start();
  await expect.poll(() => has('store.unavailable', 'rls.shop', 'resolved'), { timeout: 20_000 }).toBe(true);
});
