import { createContext, runInContext } from 'node:vm';
import { build } from 'esbuild';
import { beforeAll, describe, expect, test } from 'vitest';
import { sourceAliases } from '../../../scripts/lib/aliases.mjs';

const MODULE = `
import { createLimiter, memoryStore, quota, slidingWindow, concurrency } from 'comporta';
import { createGate } from 'comporta/http';
import { withRateLimit } from 'comporta/fetch';
import { httpStore } from 'comporta/http-store';
import { redisStore } from 'comporta/redis';
import { serveStore } from 'comporta/store-server';
import { upstashStore } from 'comporta/upstash';

const limits = [slidingWindow({ limit: 5, window: '1m' }), quota({ limit: 9, per: 'day' }), concurrency({ limit: 4 })];
const stores = {
  memory: memoryStore(),
  upstash: upstashStore({ url: 'https://example.upstash.io', token: 'token' }),
  http: httpStore('https://limits.example.org', { token: 'token' }),
};
const limiters = Object.fromEntries(Object.entries(stores).map(([name, store]) => [
  name, createLimiter({ policy: name, limits, store, blocks: true, overrides: true, revision: 1, timeoutMs: 5000 }),
]));
createGate({ policies: [{ name: 'gate', limits, key: 'ip' }], store: stores.upstash });
withRateLimit(() => new Response(), { name: 'door', limits, store: stores.http, clientAddress: () => '192.0.2.1' });
serveStore(stores.memory, { token: 'a-token-of-some-length' });
export { limiters, redisStore, stores };
`;

const folder = new URL('../../../', import.meta.url).pathname;
let code = '';
beforeAll(async () => {
  const { outputFiles } = await build({
    stdin: { contents: MODULE, resolveDir: folder, loader: 'ts' },
    bundle: true,
    write: false,
    format: 'iife',
    globalName: 'app',
    platform: 'neutral',
    alias: sourceAliases(),
  });
  code = outputFiles[0]?.text ?? '';
});

interface App {
  readonly limiters: Readonly<Record<'memory' | 'upstash' | 'http', import('comporta').Limiter>>;
  redisStore(source: unknown): unknown;
}

/** One request to the outside, as the platform saw it. */
interface Seen {
  readonly url: string;
  readonly body: unknown;
}

/** The worker's module as the platform loads it: no timers, no requests and no chance, until a request comes. */
function load(userAgent: string, module: string = code): { readonly app: App; readonly seen: Seen[] } {
  let isStarting = true;
  const seen: Seen[] = [];
  const later =
    <Args extends readonly unknown[], R>(name: string, real: (...args: Args) => R) =>
    (...args: Args): R => {
      if (isStarting) throw new Error(`${name} is not allowed while modules load`);
      return real(...args);
    };
  const fetch = async (url: string, { body }: RequestInit): Promise<Response> => {
    seen.push({ url, body: JSON.parse(String(body)) });
    return Response.json(answerTo(url, JSON.parse(String(body))));
  };
  const globals = {
    ...{ URL, TextEncoder, TextDecoder, AbortController, Response, Headers, console, performance },
    navigator: { userAgent },
    fetch: later('fetch', fetch),
    setTimeout: later('setTimeout', setTimeout),
    setInterval: later('setInterval', setInterval),
    clearTimeout,
    crypto: { getRandomValues: later('getRandomValues', crypto.getRandomValues.bind(crypto)) },
    random: later('Math.random', Math.random),
  };
  const context = createContext(globals);
  runInContext('Math.random = random; Date.now = () => 0;', context);
  runInContext(module, context);
  isStarting = false;
  return { app: runInContext('app', context) as App, seen };
}

const NUMBERS = [4, 0, 60_000, 60_000];

/** First no script is known, as after a restart of the server. */
function answerTo(url: string, body: unknown): unknown {
  const reply = [1_764_000_000_000_000, ...NUMBERS, ...NUMBERS, ...NUMBERS];
  if (url.includes('upstash')) {
    const answer = ([name]: readonly string[]) => (name === 'EVAL' ? { result: reply } : { error: 'NOSCRIPT none' });
    return Array.isArray((body as unknown[])[0]) ? (body as string[][]).map(answer) : answer(body as string[]);
  }
  const [atUs, ...numbers] = reply;
  const { operations } = body as { readonly operations: readonly { readonly op: string }[] };
  return {
    replies: operations.map(({ op }) => ({ value: op === 'beat' ? [{ processes: 1, rank: 0 }] : { atUs, numbers } })),
  };
}

const decisionsOf = async (app: App, name: keyof App['limiters']) =>
  Promise.all(Array.from({ length: 10 }, (_, i) => app.limiters[name].consume(`client-${i}`)));

const isDecision = ({ url, body }: Seen): boolean => {
  const text = JSON.stringify(body);
  return !url.includes('/pipeline') && text.includes('client-') && !text.includes('"beat"');
};

describe('on Workers', () => {
  test('all is made while modules load, without a timer, a request or a random number', async () => {
    const { app } = load('Cloudflare-Workers');
    for (const name of ['memory', 'upstash', 'http'] as const) {
      const decisions = await decisionsOf(app, name);
      expect(decisions.map(({ allowed, degraded }) => [allowed, degraded])).toEqual(
        decisions.map(() => [true, undefined]),
      );
    }
  });

  test.each(['Math.random()', 'setTimeout(() => 0, 1)', 'fetch("https://example.org")'])(
    'a module that begins with %s does not load',
    (text) => {
      expect(() => load('Cloudflare-Workers', `var app = ${text};`)).toThrow(/not allowed/);
    },
  );

  test('no call shares a request with another or waits for one', async () => {
    const { app, seen } = load('Cloudflare-Workers');
    await decisionsOf(app, 'http');
    expect(seen.filter(isDecision)).toHaveLength(10);
    seen.length = 0;
    await decisionsOf(app, 'upstash');
    const names = seen.filter(isDecision).map(({ body }) => (body as string[])[0]);
    expect(names.filter((name) => name === 'EVALSHA')).toHaveLength(10);
    expect(names.filter((name) => name === 'EVAL')).toHaveLength(10);
  });

  test('elsewhere they do', async () => {
    const { app, seen } = load('Node.js/20');
    await decisionsOf(app, 'upstash');
    const isTogether = (...subjects: readonly string[]) =>
      seen.some(({ body }) => subjects.every((subject) => JSON.stringify(body).includes(`{${subject}}`)));
    expect(isTogether('client-0', 'client-3')).toBe(true);
    expect(isTogether('client-4', 'client-9')).toBe(true);
  });

  test('a Redis over TCP is refused, with what to use in its place', () => {
    const { app } = load('Cloudflare-Workers');
    for (const source of ['redis://localhost:6379', { call: () => 0, evalsha: () => 0 }]) {
      expect(() => app.redisStore(source)).toThrow(/Workers.*upstashStore\(.*httpStore\(/);
      expect(() => app.redisStore(source)).toThrow(expect.objectContaining({ code: 'ERR_CLIENT' }));
    }
  });
});
