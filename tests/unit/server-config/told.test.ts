import { hostname } from 'node:os';
import { expect, test } from 'vitest';
import { instanceOf } from '../../../packages/server/src/app.js';
import { bannerLines } from '../../../packages/server/src/cli/banner.js';
import { topLines } from '../../../packages/server/src/cli/top-table.js';
import type { ServerConfig } from '../../../packages/server/src/config/config.js';
import { loadConfig } from '../../../packages/server/src/config/load.js';
import { tableOf } from '../../../packages/server/src/config/table.js';
import { configOf } from '../../e2e/gateway-support.js';

const at = (port: number) => ({ listen: { host: '127.0.0.1', port } });

test.each([
  [{ gateway: at(8080), api: at(8081) }, 8080],
  [{ api: at(8081), admin: at(8083) }, 8081],
  [{ envoy: at(8082), admin: at(8083) }, 8082],
  [{ gateway: at(0), admin: at(8083) }, 8083],
])('two services of one machine sign alerts differently: %j', (sections, port) => {
  expect(instanceOf(sections as unknown as ServerConfig)).toBe(`${hostname()}:${port}`);
});

test('a file without sections is told all that there are', () => {
  const loaded = loadConfig('store: memory\n', {});
  const [first] = 'problems' in loaded ? loaded.problems : [];
  expect(first?.message).toBe('nothing to serve: expected a gateway, api, envoy or admin section');
});

test('the banner says that the API decides', () => {
  const config = configOf({ api: { listen: '127.0.0.1:0' } });
  const app = { api: { host: '127.0.0.1', port: 8081 } } as Parameters<typeof bannerLines>[1];
  expect(bannerLines(config, app, 1)[0]).toBe('decision API on http://127.0.0.1:8081/v1, health at /livez and /readyz');
});

test('breakers of one node are told apart by their time limits', () => {
  const breakers = [50, 200].map((timeoutMs) => ({ node: 'redis', timeoutMs, state: 'open' }));
  const store = { address: 'redis://a', status: 'fail' };
  const lines = topLines({ by: 'requests', sinceMs: 0, nowMs: 1, total: 0, subjects: [], store, breakers });
  expect(lines[1]).toBe('breakers: redis open at a time limit of 50 ms, redis open at a time limit of 200 ms');
});

test('a table tells what a list holds that is described elsewhere', () => {
  const table = tableOf({
    $defs: { State: { type: 'object', properties: { id: { type: 'string' } } } },
    properties: { states: { type: 'array', items: { $ref: '#/$defs/State' }, description: 'All.' } },
  });
  expect(table).toContain('| `states` | list of fields |  | All. |\n| `states[].id` | text |  |  |');
});
