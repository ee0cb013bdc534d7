import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { outcomesOf, type Route } from '../../../packages/server/src/api/route.js';
import { routes } from '../../../packages/server/src/api/routes.js';
import { TOKEN } from '../../e2e/api-support.js';
import { envoy, keptApi } from './kept-api.js';

const api = keptApi({}, { envoy });

/** Values that are near the edge of what is taken, beside any. */
const odd = fc.oneof(
  fc.constantFrom<unknown>(0, -1, 1.5, 2 ** 53, -0, 1e308, '', 'per-key', '\u0000', '\ud800', true, null, [], {}),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.maxSafeInteger(),
  fc.jsonValue({ maxDepth: 3 }),
);

/** An example with some of its values replaced, removed or added to, at any depth. */
function spoilt(value: unknown): fc.Arbitrary<unknown> {
  if (Array.isArray(value)) {
    return fc.oneof(odd, ...value.map((_, i) => spoiltAt(value, i)), fc.constant([...value, ...value]));
  }
  if (typeof value !== 'object' || value === null) return odd;
  const names = Object.keys(value);
  return fc.oneof(
    ...names.map((name) => spoiltAt(value, name)),
    ...names.map((name) => fc.constant(Object.fromEntries(Object.entries(value).filter(([key]) => key !== name)))),
    fc.tuple(fc.string(), odd).map(([name, more]) => ({ ...value, [name]: more })),
    odd,
  );
}

function spoiltAt(value: object, key: string | number): fc.Arbitrary<unknown> {
  const part = (value as Record<string | number, unknown>)[key];
  return fc.oneof(spoilt(part), odd).map((other) => {
    return Array.isArray(value) ? value.map((each, i) => (i === key ? other : each)) : { ...value, [key]: other };
  });
}

const bodies = ({ example }: Route): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 8, arbitrary: spoilt(example).map((value) => JSON.stringify(value) ?? '') },
    { weight: 1, arbitrary: fc.string({ unit: 'binary' }) },
  );

const withBody = routes.filter(({ body }) => body !== undefined).map((route) => [route.path, route] as const);

describe.each(withBody)('%s', (_, route) => {
  test('whatever is sent, the answer is one of its table, and never a fault of the program', async () => {
    const known = Object.keys(outcomesOf(route));
    await fc.assert(
      fc.asyncProperty(bodies(route), async (body) => {
        const headers = { 'content-type': 'application/json', authorization: `Bearer ${TOKEN}` };
        const answer = await api.running.ask(route.path, { method: 'POST', headers, body });
        expect(known).toContain(String(answer.status));
        expect(answer.status).toBeLessThan(500);
        expect(answer.json).toBeTypeOf('object');
        if (answer.status !== 200) expect(answer.json).toMatchObject({ status: answer.status });
        expect(answer.text.length).toBeLessThan(20_000);
      }),
      { numRuns: 60 },
    );
    expect(api.running.lines).toEqual([]);
  });
});
