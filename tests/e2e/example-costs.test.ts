import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { freePort } from '../support/ports.js';
import { watch } from '../support/reap.js';
import { until } from '../support/wait.js';

const folder = fileURLToPath(new URL('../../examples/costs/', import.meta.url));
const { costOfQuery } = (await import(`${folder}query-cost.mjs`)) as {
  costOfQuery(body?: { query?: unknown; variables?: unknown }): number;
};

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

async function start(): Promise<(path: string, body: unknown) => Promise<Response>> {
  const port = await freePort();
  const env = { ...process.env, PORT: String(port) };
  const child = spawn(process.execPath, [`${folder}index.mjs`], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  ends.push(() => void child.kill('SIGKILL'));
  watch(child);
  let said = '';
  child.stdout.on('data', (text: Buffer) => {
    said += text.toString();
  });
  await until(() => said.includes('try: '), { what: 'the example' });
  return (path, body) =>
    fetch(`http://127.0.0.1:${port}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
}

const leftIn = (response: Response): number => Number(/;r=(\d+)/.exec(response.headers.get('ratelimit') ?? '')?.[1]);

describe('the example of costs', () => {
  it('charges a batch by its items, and refuses one that can never fit for good', async () => {
    const post = await start();
    const batch = (count: number) => post('/batch', Array(count).fill(1));
    expect(leftIn(await batch(60))).toBe(40);
    const refused = await batch(60);
    expect([refused.status, Number(refused.headers.get('retry-after')) > 0]).toEqual([429, true]);
    const never = await batch(101);
    expect([never.status, never.headers.get('retry-after')]).toEqual([429, null]);
    expect(await never.json()).toMatchObject({ detail: expect.stringContaining('can never be admitted') });
  });

  it('charges a query by its fields and lists', async () => {
    const post = await start();
    const nested = '{ users(first: 20) { name friends(first: 10) { name } } }';
    expect(leftIn(await post('/graphql', { query: '{ me { name } }' }))).toBe(498);
    expect(leftIn(await post('/graphql', { query: nested }))).toBe(498 - 241);
    expect((await post('/graphql', { query: nested.replace('20', '50') })).status).toBe(429);
  });
});

const spread = (depth: number): string =>
  Array.from({ length: depth }, (_, i) => `fragment f${i} on T { a { ...f${i + 1} } b { ...f${i + 1} } }`).join(' ');

describe('the cost of a query', () => {
  it.each([
    ['a field', '{ me }', 1],
    ['fields in fields', '{ me { name age } }', 3],
    ['an alias', '{ a: me { name } b: me { name } }', 4],
    ['a list', '{ users(first: 10) { name } }', 11],
    ['a list in a list', '{ users(first: 10) { posts(last: 5) { title } } }', 61],
    ['an inline fragment', '{ me { ... on User { name } ... @include(if: true) { age } } }', 3],
    ['a fragment', '{ users(limit: 10) { ...f } } fragment f on User { name age }', 21],
    ['braces in text and comments', '{ me(text: "} { a b c }") # { x y }\n { name } }', 2],
    ['the dearest of several operations', 'query a { me } query b { me { name } }', 2],
  ])('with %s', (_, query, cost) => {
    expect(costOfQuery({ query })).toBe(cost);
  });

  it('takes sizes from variables, and a size that is missing or no size for large', () => {
    const query = 'query q($n: Int) { users(first: $n) { name } }';
    expect(costOfQuery({ query, variables: { n: 7 } })).toBe(8);
    for (const variables of [undefined, null, {}, { n: -5 }, { n: '7' }, { n: 1e300 }]) {
      expect(costOfQuery({ query, variables })).toBe(101);
    }
  });

  it('is large for what cannot be read, and a cost in any case', () => {
    const bodies = [undefined, {}, { query: 5 }, { query: '{ me' }, { query: 'x'.repeat(10_001) }];
    for (const body of bodies) expect(costOfQuery(body)).toBe(100);
    expect(costOfQuery({ query: '{ ...f } fragment f on T { a { ...f } }' })).toBe(Number.MAX_SAFE_INTEGER);
    expect(costOfQuery({ query: '{ ...missing }' })).toBe(100);
  });

  it('is worked out fast, also where fragments multiply', () => {
    const query = `{ ...f0 } ${spread(60)} fragment f60 on T { a }`;
    const start = performance.now();
    expect(costOfQuery({ query })).toBe(Number.MAX_SAFE_INTEGER);
    expect(performance.now() - start).toBeLessThan(1000);
  });
});
