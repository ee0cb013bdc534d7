import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { buildApp, type StartedNest, startApp } from './nest-app.js';

beforeAll(buildApp);

/** What a GraphQL server answers. */
interface Answer {
  readonly data: Record<string, unknown> | null;
  readonly errors?: readonly { readonly message: string; readonly extensions?: Record<string, unknown> }[];
}

describe.each(['express', 'fastify'] as const)('an application compiled by TypeScript, on %s', (platform) => {
  let app: StartedNest;
  beforeAll(async () => {
    app = await startApp(platform);
  });
  afterAll(async () => void (await app?.stop()));

  const get = (path: string) => fetch(`${app.origin}${path}`);
  const statuses = async (...paths: readonly string[]) => {
    const all = [];
    for (const path of paths) all.push((await get(path)).status);
    return all;
  };

  test('refuses requests over the limit with a problem, and not what is left out', async () => {
    expect(await statuses('/hello', '/hello')).toEqual([200, 200]);
    const refused = await get('/hello');
    expect(refused.status).toBe(429);
    expect(refused.headers.get('content-type')).toBe('application/problem+json');
    expect(refused.headers.get('retry-after')).toBe('3600');
    expect(await refused.json()).toMatchObject({ status: 429, 'violated-policies': ['pages'] });
    expect(await statuses('/dear', '/free', '/free', '/free')).toEqual([429, 200, 200, 200]);
  });

  test('keeps the limits that a decorator gives a handler', async () => {
    expect(await statuses('/login', '/login')).toEqual([200, 429]);
    expect((await get('/login')).headers.get('ratelimit-policy')).toBe('"default.Pages.login";q=1;w=3600');
  });

  test('refuses a GraphQL query as an error of GraphQL, field by field', async () => {
    const ask = async (query: string) => {
      const headers = { 'content-type': 'application/json', accept: 'application/json' };
      const body = JSON.stringify({ query });
      const response = await fetch(`${app.origin}/graphql`, { method: 'POST', headers, body });
      return { status: response.status, headers: response.headers, answer: (await response.json()) as Answer };
    };
    expect((await ask('{ greeting version }')).answer).toEqual({ data: { greeting: 'hello', version: '1' } });
    expect((await ask('mutation { change }')).answer.errors).toHaveLength(1);
    expect((await ask('{ greeting }')).answer.data).toEqual({ greeting: 'hello' });
    const { headers, answer } = await ask('{ greeting version }');
    expect(answer.data).toBeNull();
    expect(answer.errors?.[0]?.message).toContain('queries allows 2 requests in any hour. Try again in ');
    expect(answer.errors?.[0]?.extensions).toMatchObject({
      code: 'TOO_MANY_REQUESTS',
      retryAfterMs: expect.any(Number),
      problem: { status: 429, 'violated-policies': ['queries'] },
    });
    expect(headers.get('content-type')).toContain('application/json');
    expect((await ask('{ version }')).answer.data).toEqual({ version: '1' });
  });

  test('refuses a message of a WebSocket by an exception, and the socket stays open', async () => {
    const [ours, theirs] = [await openSocket('ours'), await openSocket('theirs')];
    const answers = [await ours.ask('0'), await ours.ask('1'), await ours.ask('2')];
    expect(answers.slice(0, 2)).toEqual([
      { event: 'chat', data: '0' },
      { event: 'chat', data: '1' },
    ]);
    expect(answers[2]).toMatchObject({
      event: 'exception',
      data: { status: 429, message: expect.stringContaining('Try again in '), retryAfterMs: expect.any(Number) },
    });
    expect(ours.socket.readyState).toBe(WebSocket.OPEN);
    expect(await theirs.ask('3')).toEqual({ event: 'chat', data: '3' });
  });

  async function openSocket(team: string) {
    const url = `${app.origin.replace('http', 'ws')}/socket`;
    const socket = new WebSocket(url, { headers: { 'x-team': team } });
    onTestFinished(() => socket.close());
    await once(socket, 'open');
    const ask = async (data: string): Promise<unknown> => {
      const answer = once(socket, 'message');
      socket.send(JSON.stringify({ event: 'chat', data }));
      return JSON.parse(String((await answer)[0]));
    };
    return { socket, ask };
  }

  test('refuses a message of a microservice by an exception that its client gets', async () => {
    const answers = [];
    for (let i = 0; i < 3; i++) answers.push(await (await get('/sum')).json());
    expect(answers.slice(0, 2)).toEqual([{ sum: 3 }, { sum: 3 }]);
    expect(answers[2]).toMatchObject({
      error: { code: 8, status: 429, message: expect.stringContaining('sums allows') },
    });
  });

  test('ends when it is told to, without a fault', async () => {
    expect([0, null]).toContain(await app.stop());
    expect(app.output()).not.toMatch(/error|warn/i);
  });
});
