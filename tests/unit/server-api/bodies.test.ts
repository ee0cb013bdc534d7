import { expect, test } from 'vitest';
import { problem, Refusal } from '../../../packages/server/src/api/problem.js';
import { keptApi } from './kept-api.js';

const api = keptApi();

const headers = { 'content-type': 'application/json', authorization: 'Bearer an-api-token-of-the-tests' };

const consume = async (body: string) =>
  (await api.running.ask('/v1/consume', { method: 'POST', headers, body })).json ?? {};

const nested = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;

test('brackets in brackets, as many as exhaust a stack, are refused before they are read', async () => {
  const deep = await consume(`{"policy":"per-key","subject":["k"],"cost":${nested(20_000)}}`);
  expect(deep).toMatchObject({ status: 400, detail: 'Expected fewer brackets in brackets.' });
  // What is within a text is text.
  const text = JSON.stringify({ policy: 'per-key', subject: [`\\"${nested(500)}`], cost: 1 });
  expect(await consume(text)).toMatchObject({ allowed: true });
});

test('a refusal repeats no more than its first words of what was sent', () => {
  const { body } = problem(new Refusal(400, 'x'.repeat(50_000), { field: 'y'.repeat(50_000) }));
  expect(JSON.parse(body)).toMatchObject({ detail: `${'x'.repeat(1000)}...`, field: `${'y'.repeat(1000)}...` });
});
