import { createLimiter, type Store, slidingWindow } from 'comporta';
import { upstashStore } from 'comporta/upstash';
import { describe, expect, test } from 'vitest';
import { Batches } from '../../../packages/comporta/src/redis/http-batch.js';
import { withKeyLocking } from '../../../packages/comporta/src/redis/upstash.js';

const TOKEN = 'secret-token-of-the-database';
const SUBJECT = 'ana@example.org';
const limits = slidingWindow({ limit: 5, window: '1m' });

type Answers = (body: string, init: RequestInit) => Response | Promise<Response>;

function storeAnswered(answer: Answers): Store {
  const fetch = async (_: string, init: RequestInit) => answer(String(init.body), init);
  return upstashStore({ url: 'https://db.example.org/base/', token: TOKEN, fetch });
}

const json = (status: number, body: unknown): Response => Response.json(body, { status });

async function degradedBy(answer: Answers) {
  const limiter = createLimiter({ policy: 'p', limits, store: storeAnswered(answer), timeoutMs: 200 });
  return (await limiter.consume(SUBJECT)).degraded;
}

describe('what the server answers becomes a cause', () => {
  test.each<[string, Answers, string, RegExp]>([
    ['HTTP 401', () => json(401, { error: 'Unauthorized' }), 'misconfigured', /token was refused \(HTTP 401/],
    ['HTTP 403', () => new Response('no', { status: 403 }), 'misconfigured', /token was refused \(HTTP 403/],
    ['HTTP 404', () => new Response('no', { status: 404 }), 'misconfigured', /is the URL right/],
    ['a redirect', () => new Response(null, { status: 307 }), 'misconfigured', /redirects/],
    ['HTTP 429', () => json(429, { error: 'ERR max requests limit exceeded' }), 'unavailable', /too many requests/],
    ['HTTP 502 with a page', () => new Response('<html>', { status: 502 }), 'unavailable', /HTTP 502/],
    ['a page', () => new Response('<html>hello'), 'unavailable', /without JSON: "<html>hello"/],
    ['other JSON', () => json(200, { hello: 1 }), 'unavailable', /no reply of the Upstash REST API/],
    ['a list too short', () => json(200, []), 'unavailable', /no reply of the Upstash REST API/],
    ['an endless body', () => new Response('x'.repeat(5 * 2 ** 20)), 'unavailable', /longer than 69632 bytes/],
    [
      'a right that lacks',
      () => json(400, { error: 'NOPERM this user has no permissions' }),
      'misconfigured',
      /^NOPERM/,
    ],
    ['a full server', () => json(400, { error: 'OOM command not allowed' }), 'unavailable', /^OOM/],
  ])('%s', async (_, answer, cause, detail) => {
    expect(await degradedBy(answer)).toMatchObject({ cause, detail: expect.stringMatching(detail) });
  });

  test('errors name neither the token nor what was sent', async () => {
    const echo: Answers = (body) => json(400, { error: `ERR unknown command, with args: ${body}, token ${TOKEN}` });
    const detail = (await degradedBy(echo))?.detail ?? '';
    expect(detail).toMatch(/^ERR unknown command/);
    for (const secret of [TOKEN, SUBJECT]) expect(detail).not.toContain(secret);
    const thrown = await degradedBy(() => {
      throw new Error(`bad header Bearer ${TOKEN}`);
    });
    expect(thrown?.detail).toBe('bad header Bearer [token]');
    for (const status of [200, 500]) {
      const page = await degradedBy(() => new Response(`you sent ${TOKEN}`, { status }));
      expect(page?.detail).not.toContain(TOKEN);
    }
  });

  test('a request that nobody answers is aborted when the time limit ends, and never sent again', async () => {
    const signals: (AbortSignal | null | undefined)[] = [];
    const degraded = await degradedBy((_, { signal }) => {
      signals.push(signal);
      return new Promise(() => undefined);
    });
    expect(degraded?.cause).toBe('timeout');
    await expect.poll(() => signals.map((signal) => signal?.aborted)).toEqual([true]);
  });

  test('numbers may come as texts', async () => {
    const reply = ['1764000000000000', '4', '0', '60000', '60000'];
    const limiter = createLimiter({ policy: 'p', limits, store: storeAnswered(() => json(200, { result: reply })) });
    expect(await limiter.consume(SUBJECT)).toMatchObject({ atUs: 1_764_000_000_000_000, limits: [{ remaining: 4 }] });
  });
});

test('what is no address, token or function is refused when the store is made', () => {
  const good = { url: 'https://db.example.org', token: 'token' };
  for (const [field, wrong] of [
    ['url', 'redis://db.example.org'],
    ['url', ''],
    ['url', 'https://user:pass@db.example.org'],
    ['url', 'https://db.example.org?_token=a'],
    ['token', ''],
    ['token', 'a b'],
    ['token', undefined],
    ['fetch', 'fetch'],
    ['batch', 1],
    ['keyPrefix', 'a b'],
  ] as const) {
    const make = () => upstashStore({ ...good, [field]: wrong } as never);
    expect(make, `${field}: ${wrong}`).toThrow(expect.objectContaining({ code: 'ERR_OPTION', field }));
  }
  expect(() => upstashStore(undefined as never)).toThrow(/expected \{ url, token \}/);
  expect(() => upstashStore({ ...good, url: 'ftp://me:pass@db' })).not.toThrow(/pass/);
});

test('scripts get the flag beside the one that says that they only read', () => {
  const line = (text: string) => withKeyLocking({ text: `${text}\nreturn 1\n`, sha: '' }).text.split('\n')[0];
  expect(line('#!lua')).toBe('#!lua flags=allow-key-locking');
  expect(line('#!lua flags=no-writes')).toBe('#!lua flags=no-writes,allow-key-locking');
  expect(line('#!lua flags=allow-oom')).toBe('#!lua flags=allow-key-locking');
  const script = { text: '#!lua\nreturn 1\n', sha: 'a' };
  expect(withKeyLocking(script)).toBe(withKeyLocking(script));
});

describe('calls of one tick', () => {
  const texts = (count: number, length = 1) => Array.from({ length: count }, (_, i) => `${i}`.padEnd(length, '.'));
  function recording(joins = true) {
    const sent: { readonly count: number; readonly timeoutMs: number }[] = [];
    const batches = new Batches<{ readonly text: string }>(async (items, timeoutMs) => {
      sent.push({ count: items.length, timeoutMs });
      return items.map(({ text }) => (text.startsWith('3') ? { error: new Error(text) } : { value: text }));
    }, joins);
    return { sent, batches };
  }

  test('travel in order, at most 128 in one request, each with its own outcome', async () => {
    const { sent, batches } = recording();
    const outcomes = await Promise.allSettled(texts(300).map((text) => batches.ask({ text }, undefined)));
    expect(sent.map(({ count }) => count)).toEqual([128, 128, 44]);
    outcomes.forEach((outcome, i) => {
      const failed = `${i}`.startsWith('3');
      expect(outcome).toMatchObject(failed ? { reason: { message: `${i}` } } : { value: `${i}` });
    });
  });

  test('do not make one request longer than half a million characters', async () => {
    const { sent, batches } = recording();
    const asked = ['a'.repeat(300_000), 'b'.repeat(300_000), 'c'].map((text) => batches.ask({ text }, undefined));
    await Promise.all(asked);
    expect(sent.map(({ count }) => count)).toEqual([1, 2]);
  });

  test('travel apart from those with another time limit', async () => {
    const { sent, batches } = recording();
    const limitsMs = [50, 2000, 50];
    await Promise.all(limitsMs.map((timeoutMs) => batches.ask({ text: 'a' }, { isOver: false, timeoutMs })));
    expect(sent).toEqual([
      { count: 2, timeoutMs: 50 },
      { count: 1, timeoutMs: 2000 },
    ]);
  });

  test('are not sent once nobody waits for them', async () => {
    const { sent, batches } = recording();
    const waiter = { isOver: false };
    const asked = batches.ask({ text: 'a' }, waiter);
    waiter.isOver = true;
    await expect(asked).rejects.toMatchObject({ kind: 'timeout', isUnsent: true });
    expect(sent).toEqual([]);
  });

  test('go one by one where they may not be joined', async () => {
    const { sent, batches } = recording(false);
    await Promise.all(['a', 'b'].map((text) => batches.ask({ text }, undefined)));
    expect(sent.map(({ count }) => count)).toEqual([1, 1]);
  });
});
