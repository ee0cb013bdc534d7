import { fixedWindow } from 'comporta';
import { rateLimit } from 'comporta/express';
import { EXPOSED_HEADERS, type GateOptions, type Policy } from 'comporta/http';
import express, { type RequestHandler } from 'express';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { gatewayFile, startGateway } from '../e2e/gateway-support.js';
import { closeServer, listen, portOf } from '../unit/http/serve.js';
import { type Browser, hasBrowser, loadCors, openBrowser } from './browser.js';

const limits = fixedWindow({ limit: 2, window: '1d', align: 'first-hit' });
const limited = { 'ratelimit-policy': '"api";q=2;w=86400' };

describe.skipIf(!hasBrowser)('a script in a page', () => {
  let browser: Browser;
  let cors: (options: object) => RequestHandler;
  beforeAll(async () => {
    cors = await loadCors();
    browser = await openBrowser();
  });
  afterAll(() => browser?.close());

  /** An Express application on an origin of its own. */
  async function start(...handlers: RequestHandler[]): Promise<{ url: string; methods: string[] }> {
    const methods: string[] = [];
    const app = express().use((request, _, next) => {
      methods.push(request.method);
      next();
    });
    for (const handler of handlers) app.use(handler);
    app.use((_, response) => void response.type('text/plain').send('hello'));
    const server = await listen(app);
    onTestFinished(() => closeServer(server));
    return { url: `http://127.0.0.1:${portOf({ server })}/`, methods };
  }
  const limiter = (options: Partial<Pick<Policy & GateOptions, 'match' | 'countPreflight'>> = {}) =>
    rateLimit({ name: 'api', limits, ...options });
  const exposing = () => cors({ origin: browser.origin, exposedHeaders: EXPOSED_HEADERS });

  test('reads all fields, and the problem of a refusal, where cors exposes them before the limiter', async () => {
    const { url } = await start(exposing(), limiter());
    expect(await browser.ask(url)).toMatchObject({
      type: 'cors',
      status: 200,
      fields: { ...limited, ratelimit: '"api";r=1;t=86400' },
      body: 'hello',
    });
    await browser.ask(url);
    const { status, fields, body = '' } = await browser.ask(url);
    expect([status, fields?.['content-type']]).toEqual([429, 'application/problem+json']);
    expect(fields).toMatchObject({ ...limited, ratelimit: '"api";r=0;t=86400', 'retry-after': '86400' });
    expect(JSON.parse(body)).toMatchObject({ status: 429, 'violated-policies': ['api'] });
  });

  test('reads a refusal and its problem, but no field of it, where cors exposes none', async () => {
    const { url } = await start(cors({ origin: browser.origin }), limiter());
    for (let i = 0; i < 2; i++) await browser.ask(url);
    const { status, fields = {}, body = '' } = await browser.ask(url);
    expect(status).toBe(429);
    expect(Object.keys(fields).filter((name) => /ratelimit|retry/.test(name))).toEqual([]);
    expect(JSON.parse(body)).toMatchObject({ status: 429, detail: expect.stringContaining('Try again in 1 day') });
  });

  test('sees a network error in place of a refusal where the limiter comes before cors', async () => {
    const { url } = await start(limiter(), exposing());
    for (let i = 0; i < 2; i++) expect(await browser.ask(url)).toMatchObject({ status: 200, fields: limited });
    expect(await browser.ask(url)).toEqual({ error: 'TypeError: Failed to fetch' });
  });

  test('reads all fields where page and answer have one origin, without any CORS', async () => {
    // The page itself, and the icon that browsers ask for unasked, are not counted.
    const { url } = await start(limiter({ match: { path: '/api' } }));
    const page = await browser.newPage();
    await page.goto(url);
    const read = `fetch('/api').then(({ status, headers }) => ({ status, fields: Object.fromEntries(headers) }))`;
    for (const left of [1, 0]) {
      const fields = { ...limited, ratelimit: `"api";r=${left};t=86400` };
      expect(await page.evaluate(read)).toMatchObject({ status: 200, fields });
    }
    expect(await page.evaluate(read)).toMatchObject({ status: 429, fields: { ...limited, 'retry-after': '86400' } });
  });

  test('sees a network error, or an opaque response, where nobody allows its origin', async () => {
    const { url, methods } = await start(limiter());
    expect(await browser.ask(url)).toEqual({ error: 'TypeError: Failed to fetch' });
    const opaque = { type: 'opaque', status: 0, fields: {}, body: '' };
    for (let i = 0; i < 2; i++) expect(await browser.ask(url, { mode: 'no-cors' })).toEqual(opaque);
    expect(methods).toEqual(['GET', 'GET', 'GET']);
  });

  /** Not simple requests: the browser asks before each whether it may send it. */
  const put = { method: 'PUT', headers: { 'x-api-key': 'a' } };
  const asking = () => cors({ origin: browser.origin, exposedHeaders: EXPOSED_HEADERS, maxAge: 0 });

  test('is charged for its requests only, not for the preflights that come before them', async () => {
    const { url, methods } = await start(limiter(), asking());
    for (let i = 0; i < 2; i++) expect(await browser.ask(url, put)).toMatchObject({ status: 200 });
    expect(methods).toEqual(['OPTIONS', 'PUT', 'OPTIONS', 'PUT']);
  });

  test('is charged for preflights too where countPreflight says so', async () => {
    const { url, methods } = await start(limiter({ countPreflight: true }), asking());
    expect(await browser.ask(url, put)).toMatchObject({ status: 200 });
    expect(await browser.ask(url, put)).toEqual({ error: 'TypeError: Failed to fetch' });
    expect(methods).toEqual(['OPTIONS', 'PUT', 'OPTIONS']);
  });

  test('reads a refusal of a request with a preflight, also after the limit', async () => {
    const { url } = await start(asking(), limiter());
    for (let i = 0; i < 2; i++) await browser.ask(url, put);
    expect(await browser.ask(url, put)).toMatchObject({ status: 429, fields: { 'retry-after': '86400' } });
  });

  /** A gateway before an application that allows the origin and exposes nothing. */
  async function startBehindGateway(): Promise<string> {
    const upstream = await start(cors({ origin: browser.origin, maxAge: 0 }));
    const policies = [{ name: 'api', limits: [{ fixedWindow: { limit: 2, window: '1d', align: 'first-hit' } }] }];
    return `${(await startGateway(gatewayFile(upstream.url, {}, { policies }))).origin}/`;
  }

  test('reads the fields of the gateway, which exposes them, and is not charged for preflights there', async () => {
    const url = await startBehindGateway();
    for (const left of [1, 0]) {
      const fields = { ...limited, ratelimit: `"api";r=${left};t=86400` };
      expect(await browser.ask(url, put)).toMatchObject({ status: 200, fields });
    }
  });

  test('sees a network error in place of a refusal of the gateway, which speaks for no origin', async () => {
    const url = await startBehindGateway();
    for (let i = 0; i < 2; i++) await browser.ask(url);
    expect(await browser.ask(url)).toEqual({ error: 'TypeError: Failed to fetch' });
  });
});
