import { fixedWindow } from 'comporta';
import { createGate, type Field } from 'comporta/http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Browser, hasBrowser, openBrowser, type Page } from '../browser/browser.js';
import { startServer } from '../support/servers.js';
import { sleep, until } from '../support/wait.js';
import { view } from '../unit/identity/view.js';
import { buildApp, newClient, type StartedNext, startApp } from './next-app.js';

let app: StartedNext;
const ask = (path: string, init: RequestInit = {}) => fetch(app.origin + path, { redirect: 'manual', ...init });
const statuses = async (count: number, send: () => Promise<Response>): Promise<number[]> => {
  const all: number[] = [];
  for (let i = 0; i < count; i++) {
    const response = await send();
    await response.arrayBuffer();
    all.push(response.status);
  }
  return all;
};

beforeAll(async () => {
  await buildApp();
  app = await startApp();
  // A build takes two cores for a quarter of a minute, and has to share them.
}, 300_000);
afterAll(() => app?.stop());

describe('proxy.ts', () => {
  test('refuses a static page after the limit, byte for byte as the gate words it', async () => {
    const headers = newClient();
    expect(await statuses(5, () => ask('/', { headers }))).toEqual([200, 200, 200, 200, 200]);
    const refused = await ask('/', { headers });
    const expected = await refusalOfSite();
    expect(refused.status).toBe(429);
    expect(await refused.text()).toBe(expected.body);
    for (const [name, value] of expected.headers) expect([name, refused.headers.get(name)]).toEqual([name, value]);
    expect([...refused.headers.keys()].filter((name) => name.startsWith('x-'))).toEqual([]);
  });

  test('lets a request go on to the page, with the fields of the limiter and of the proxy it wraps', async () => {
    const response = await ask('/', { headers: newClient() });
    expect(await response.text()).toContain('A static page');
    expect(response.headers.get('ratelimit')).toMatch(/^"site";r=4;t=\d+$/);
    expect(response.headers.get('x-own-proxy')).toBe('yes');
    expect(response.headers.has('x-middleware-next')).toBe(false);
  });

  test('keeps the redirect of the proxy it wraps, and goes on where that returns nothing', async () => {
    const headers = newClient();
    const redirect = await ask('/old', { headers });
    expect([redirect.status, redirect.headers.get('location')]).toEqual([307, '/']);
    expect(redirect.headers.get('ratelimit')).toMatch(/^"site";r=4;/);
    expect(await (await ask('/form', { headers })).text()).toContain('<form');
    expect((await ask('/old', { headers })).headers.get('ratelimit')).toMatch(/^"site";r=2;/);
  });

  test('does not meet what its matcher leaves out, nor count what its policy leaves out', async () => {
    const headers = newClient();
    const page = await (await ask('/', { headers })).text();
    const script = /\/_next\/static\/[^"]+\.js/.exec(page)?.[0] ?? '';
    for (const path of ['/files/a.txt', script, '/?health']) {
      expect(await statuses(6, () => ask(path, { headers })), path).toEqual([200, 200, 200, 200, 200, 200]);
      expect((await ask(path, { headers })).headers.has('ratelimit')).toBe(false);
    }
    expect((await ask('/', { headers })).headers.get('ratelimit')).toMatch(/^"site";r=3;/);
  });
});

/** The refusal of a gate with the policy of the application's proxy. */
async function refusalOfSite(): Promise<{ readonly body: string; readonly headers: readonly Field[] }> {
  const limits = fixedWindow({ limit: 5, window: '1d', align: 'first-hit' });
  const gate = createGate({ policies: [{ name: 'site', limits }] });
  for (let i = 0; i < 5; i++) await gate.check(view({ peer: '203.0.113.9' }));
  return gate.check(view({ peer: '203.0.113.9' }));
}

describe('route handlers', () => {
  const login = (headers: HeadersInit, body: string) => ask('/api/login', { method: 'POST', headers, body });

  test('stay charged for failures only', async () => {
    const headers = newClient();
    expect(await statuses(4, () => login(headers, 'right'))).toEqual([200, 200, 200, 200]);
    expect(await statuses(3, () => login(headers, 'wrong'))).toEqual([401, 401, 429]);
    expect(await statuses(1, () => login(headers, 'right'))).toEqual([429]);
  });

  test('know the client by its connection, whatever it writes into a forwarding header', async () => {
    const users = (path: string) => ask(path, { headers: newClient() });
    const first = await users('/api/users/7');
    expect(await first.json()).toEqual({ id: '7', forwardedFor: expect.stringMatching(/^203\.0\.113\.\d+$/) });
    expect(await statuses(3, () => users('/api/users/7'))).toEqual([200, 200, 429]);
    expect(await statuses(1, () => users('/api/users/8'))).toEqual([200]);
    expect(app.output()).not.toContain('ERR_KEY');
  });

  test('run in the edge runtime, where the platform says who the client is', async () => {
    const edge = (address: string) => ask('/api/edge', { headers: { 'x-real-ip': address } });
    expect(await statuses(3, () => edge('203.0.113.1'))).toEqual([200, 200, 429]);
    expect(await statuses(1, () => edge('203.0.113.2'))).toEqual([200]);
  });

  test('hold a place until a stream ends: by itself, or because its reader went away', async () => {
    const headers = newClient();
    expect(await statuses(2, () => ask('/api/stream', { headers }))).toEqual([200, 200]);
    const reader = new AbortController();
    const endless = await ask('/api/stream?endless', { headers, signal: reader.signal });
    const { value } = (await endless.body?.getReader().read()) ?? {};
    expect(new TextDecoder().decode(value)).toBe('first');
    expect(await statuses(2, () => ask('/api/stream', { headers }))).toEqual([429, 429]);
    reader.abort();
    await until(async () => (await ask('/api/stream', { headers })).status === 200, { what: 'a free place' });
  });
});

describe('server actions', () => {
  let ids: Record<'save' | 'signIn', string>;
  beforeAll(async () => {
    const page = (await (await ask('/form', { headers: newClient() })).text()).replaceAll('&quot;', '"');
    const [, save = ''] = /\$ACTION_ID_([0-9a-f]+)/.exec(page) ?? [];
    const [, signIn = ''] = /\{"id":"([0-9a-f]+)"/.exec(page) ?? [];
    ids = { save, signIn };
  });

  /** As a browser calls an action: arguments as React encodes them, the last of them a form. */
  const call = (id: string, headers: Record<string, string>, form: Record<string, string>, ...before: object[]) => {
    const body = new FormData();
    for (const [name, value] of Object.entries(form)) body.append(`_1_${name}`, value);
    body.append('0', JSON.stringify([...before, '$K1']));
    return ask('/form', { method: 'POST', headers: { ...headers, 'next-action': id }, body });
  };
  const save = (headers: Record<string, string>, text: string) => call(ids.save, headers, { text });
  const signIn = (headers: Record<string, string>, name: string) =>
    call(ids.signIn, headers, { name, password: 'wrong' }, { message: '' });

  test('throw an error that browsers can tell apart, and stay charged for failures only', async () => {
    const headers = newClient();
    expect(await statuses(3, () => save(headers, 'good'))).toEqual([200, 200, 200]);
    for (let i = 0; i < 3; i++) expect((await save(headers, 'leave')).headers.get('x-action-redirect')).toMatch(/^\/;/);
    expect(await statuses(2, () => save(headers, 'bad'))).toEqual([500, 500]);
    const refused = await save(newClient(), 'good');
    expect(await refused.text()).not.toContain('COMPORTA_REFUSED');
    const text = await (await save(headers, 'good')).text();
    expect(text).toMatch(/"digest":"COMPORTA_REFUSED;429;\d+"/);
    expect(text).not.toContain('allows');
  });

  test('return what onDenied makes of a refusal, counted by their arguments', async () => {
    const answers: string[] = [];
    for (let i = 0; i < 3; i++) answers.push(await (await signIn(newClient(), 'ada')).text());
    expect(answers.map((text) => /"message":"([^"\d]+)/.exec(text)?.[1])).toEqual([
      'wrong password',
      'wrong password',
      'come back in ',
    ]);
    expect(await (await signIn(newClient(), 'grace')).text()).toContain('wrong password');
  });
});

describe.skipIf(!hasBrowser)('a browser', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(() => browser?.close());

  /** What the error boundary shows after the form was sent, once React has taken over the page. */
  async function sendBadForm(page: Page): Promise<unknown> {
    await page.goto(`${app.origin}/form`);
    const isReady = `Object.keys(document.querySelector('#save')).some((key) => key.startsWith('__reactProps'))`;
    await until(() => page.evaluate(isReady), { what: 'React in the page' });
    await page.evaluate(
      `document.querySelector('#save [name=text]').value = 'bad'; document.querySelector('#save').requestSubmit()`,
    );
    return until(() => page.evaluate(`document.querySelector('[role=alert]')?.textContent`), { what: 'an alert' });
  }

  test('tells a refused action from one that failed, and when to come back', async () => {
    const page = await browser.newPage();
    expect(await sendBadForm(page)).toBe('Something went wrong');
    expect(await sendBadForm(page)).toBe('Something went wrong');
    expect(await sendBadForm(page)).toMatch(/^Refused: come back in 86\d{3} s$/);
  });
});

test('two processes count together on Redis, and do without it as each policy says', async () => {
  await using redis = await startServer();
  const two = await Promise.all([startApp(redis.url), startApp(redis.url)]);
  try {
    const counted = (origin: string) => fetch(`${origin}/api/shared/closed`);
    for (const { origin } of two) {
      await until(async () => (await counted(origin)).status === 200, { what: 'a connection to Redis' });
    }
    const others = Array.from({ length: 38 }, (_, i) => counted(two[i % 2]?.origin ?? ''));
    const refused = (await Promise.all(others)).filter(({ status }) => status !== 200);
    expect(refused.map(({ status }) => status)).toEqual(Array(20).fill(429));
    await redis.kill();
    // What was refused last is refused from memory for 20 ms.
    await sleep(30);
    for (const { origin } of two) {
      expect((await fetch(`${origin}/api/shared/closed`)).status).toBe(503);
      expect((await fetch(`${origin}/api/shared/open`)).status).toBe(200);
    }
  } finally {
    await Promise.all(two.map((one) => one.stop()));
  }
});
