import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openApiDocument, openApiText } from '../../../packages/server/src/api/openapi.js';
import { outcomesOf } from '../../../packages/server/src/api/route.js';
import { routes } from '../../../packages/server/src/api/routes.js';
import { apiTables } from '../../../packages/server/src/api/tables.js';
import { loadConfig } from '../../../packages/server/src/config/load.js';
import { root } from '../repo/source.js';
import { keptApi } from './kept-api.js';

const api = keptApi();
const committed = JSON.parse(readFileSync(join(root, 'packages/server/schema/openapi.json'), 'utf8'));
const document = JSON.parse(openApiText(routes));

test('the kept OpenAPI document is what the routes make (npm run gen), and what is served', async () => {
  expect(committed).toEqual(document);
  expect((await api.running.ask('/openapi.json')).json).toEqual(document);
});

test('the tables of docs/decision-api.md are those that the routes make (npm run gen)', () => {
  expect(readFileSync(join(root, 'docs/decision-api.md'), 'utf8')).toContain(apiTables(routes));
});

test('the document has every route, with every status, and says who needs which token', () => {
  expect(Object.keys(document.paths)).toEqual(routes.map(({ path }) => path));
  for (const route of routes) {
    const operation = document.paths[route.path][(route.method ?? 'GET').toLowerCase()];
    expect(Object.keys(operation.responses)).toEqual(Object.keys(outcomesOf(route)));
    expect(operation.requestBody !== undefined).toBe(route.body !== undefined);
    const needed = operation.security.flatMap((each: object) => Object.keys(each));
    expect(needed).toEqual({ token: ['token'], 'store-token': ['storeToken'], anybody: [], proxy: [] }[route.access]);
    for (const name of needed) expect(document.components.securitySchemes).toHaveProperty(name);
    const named = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    const inPath = (operation.parameters ?? []).filter((parameter: { in: string }) => parameter.in === 'path');
    expect(inPath.map(({ name }: { name: string }) => name)).toEqual(named);
  }
  const ids = Object.values(document.paths as Record<string, Record<string, { operationId: string }>>);
  const operationIds = ids.flatMap((item) => Object.values(item).map(({ operationId }) => operationId));
  expect(new Set(operationIds).size).toBe(routes.length);
});

test('every reference of the document leads somewhere, and every part is used', () => {
  const references = new Set(
    [...openApiText(routes).matchAll(/"\$ref": "#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name),
  );
  expect([...references].sort()).toEqual(Object.keys(document.components.schemas));
  expect(JSON.stringify(openApiDocument(routes))).not.toContain('$defs');
});

const page = (name: string): string => readFileSync(join(root, 'docs', name), 'utf8');

test('the recipes of docs/forward-auth.md are the files of the example', () => {
  for (const name of ['comporta.yaml', 'nginx.conf', 'Caddyfile', 'traefik.yaml']) {
    const file = readFileSync(join(root, 'examples/forward-auth', name), 'utf8');
    expect(page('forward-auth.md')).toContain(`\n${file}\`\`\`\n`);
  }
});

test('the files of the pages load', () => {
  const environment = { COMPORTA_API_TOKEN: 'a-token-of-the-pages' };
  const blocks = ['decision-api.md', 'forward-auth.md'].flatMap((name) => [
    ...page(name).matchAll(/^```yaml\n(.*?)^```$/gms),
  ]);
  const files = blocks.map(({ 1: text = '' }) => text).filter((text) => /^api:/m.test(text));
  expect(files.length).toBe(3);
  for (const text of files) expect(loadConfig(text, environment)).not.toHaveProperty('problems');
});

test('the calls of docs/decision-api.md are answered with 200', async () => {
  const calls = [...page('decision-api.md').matchAll(/(\/v1\/[a-z-]+) -H [^\n]*\n {2}-d '([^']*)'/g)];
  expect(calls.map(({ 1: path }) => path)).toEqual(['/v1/consume', '/v1/consume-batch', '/v1/reserve']);
  for (const { 1: path = '', 2: body = '' } of calls) {
    expect((await api.running.post(path, JSON.parse(body))).status).toBe(200);
  }
});
