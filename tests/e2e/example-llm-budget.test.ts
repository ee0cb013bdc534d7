import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { freePort } from '../support/ports.js';
import { watch } from '../support/reap.js';
import { type Server, startServer } from '../support/servers.js';
import { sleep, until } from '../support/wait.js';

const USER = 300;
const TENANT = 500;
const path = fileURLToPath(new URL('../../examples/llm-budget/index.mjs', import.meta.url));

const running: ChildProcess[] = [];
let redis: Server;
beforeEach(async () => {
  redis = await startServer();
});
afterEach(async () => {
  for (const child of running.splice(0)) child.kill('SIGKILL');
  await redis.stop();
});

interface Example {
  readonly child: ChildProcess;
  chat(user: string, tenant: string, prompt: string, maxTokens: number, signal?: AbortSignal): Promise<Response>;
  budget(user: string, tenant: string): Promise<{ readonly user: number; readonly tenant: number }>;
}

/** The example on a real Redis, so that several of it share their budgets. */
async function startExample(settings: Readonly<Record<string, string>> = {}): Promise<Example> {
  const port = await freePort();
  const env = { ...process.env, PORT: String(port), STORE: redis.url, TOKEN_MS: '2', ...settings };
  const child = spawn(process.execPath, [path], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  running.push(child);
  watch(child);
  let said = '';
  child.stdout.on('data', (text: Buffer) => {
    said += text.toString();
  });
  await until(() => said.includes('try: '), { what: 'start of the example' });
  const headers = (user: string, tenant: string) => ({ 'x-user': user, 'x-tenant': tenant });
  return {
    child,
    chat: (user, tenant, prompt, maxTokens, signal) =>
      fetch(`http://127.0.0.1:${port}/chat`, {
        method: 'POST',
        headers: headers(user, tenant),
        body: JSON.stringify({ prompt, maxTokens }),
        ...(signal === undefined ? {} : { signal }),
      }),
    budget: async (user, tenant) => {
      const response = await fetch(`http://127.0.0.1:${port}/budget`, { headers: headers(user, tenant) });
      return (await response.json()) as { readonly user: number; readonly tenant: number };
    },
  };
}

const words = (count: number): string => Array(count).fill('word').join(' ');

test('an answer costs what was produced, of the user and of the tenant', async () => {
  const { chat, budget } = await startExample();
  const response = await chat('ann', 'acme', words(10), 200);
  expect(response.status).toBe(200);
  expect((await response.text()).trim().split(/\s+/).slice(-2)).toEqual(['(40', 'tokens)']);
  expect(await budget('ann', 'acme')).toEqual({ user: USER - 40, tenant: TENANT - 40 });
  expect(await budget('bob', 'acme')).toEqual({ user: USER, tenant: TENANT - 40 });
});

test('an estimate that either has no room for is refused, and costs neither', async () => {
  const { chat, budget } = await startExample();
  for (const user of ['ann', 'bob', 'cid']) await (await chat(user, 'acme', words(40), 120)).text();
  expect(await budget('dan', 'acme')).toEqual({ user: USER, tenant: TENANT - 480 });
  const byTenant = await chat('dan', 'acme', words(10), 100);
  expect([byTenant.status, await byTenant.text()]).toEqual([429, 'no room in the budget of: tenant\n']);
  expect(Number(byTenant.headers.get('retry-after'))).toBeGreaterThan(0);
  const byUser = await chat('ann', 'other', words(100), 100);
  expect([byUser.status, await byUser.text()]).toEqual([429, 'no room in the budget of: user\n']);
  await until(async () => (await budget('dan', 'other')).user === USER, { what: 'the estimate of the user' });
  await until(async () => (await budget('dan', 'other')).tenant === TENANT, { what: 'the estimate of the tenant' });
});

test('ten callers at once never spend more than the tenant has', async () => {
  const { chat, budget } = await startExample();
  const answers = await Promise.all(
    Array.from({ length: 10 }, async (_, i) => {
      const response = await chat(`user-${i}`, 'acme', words(20), 80);
      return { status: response.status, text: await response.text() };
    }),
  );
  expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(5);
  const spent = answers.filter(({ status }) => status === 200).length * 80;
  expect(spent).toBeLessThanOrEqual(TENANT);
  expect((await budget('eve', 'acme')).tenant).toBe(TENANT - spent);
});

test('an answer that is broken off costs what was produced until then', async () => {
  const { chat, budget } = await startExample({ TOKEN_MS: '20' });
  const leaving = new AbortController();
  const response = await chat('ann', 'acme', words(60), 180, leaving.signal);
  const reader = response.body?.getReader();
  await reader?.read();
  expect((await budget('ann', 'acme')).user).toBe(USER - 240);
  leaving.abort();
  await until(async () => (await budget('ann', 'acme')).user > USER - 240, { what: 'the settlement' });
  const after = await budget('ann', 'acme');
  expect(after.user).toBeLessThan(USER - 60);
  expect(USER - after.user).toBe(TENANT - after.tenant);
});

test('what a process had reserved when it was killed is given back by itself', async () => {
  const holdMs = 2000;
  const first = await startExample({ TOKEN_MS: '50', HOLD_MS: String(holdMs) });
  const second = await startExample();
  const response = await first.chat('ann', 'acme', words(60), 180);
  await response.body?.getReader().read();
  first.child.kill('SIGKILL');
  expect(await second.budget('ann', 'acme')).toEqual({ user: USER - 240, tenant: TENANT - 240 });
  await sleep(holdMs);
  await until(async () => (await second.chat('ann', 'acme', words(10), 200)).status === 200, { what: 'room again' });
  await until(async () => (await second.budget('ann', 'acme')).user === USER - 40, { what: 'the settlement' });
  expect(await second.budget('ann', 'acme')).toEqual({ user: USER - 40, tenant: TENANT - 40 });
});

test('what cannot be read is answered, and costs nothing', async () => {
  const { chat, budget } = await startExample();
  expect((await chat('ann', 'acme', words(3), -5)).status).toBe(400);
  expect((await chat('ann', 'acme', words(3), 0.5)).status).toBe(400);
  expect(await budget('ann', 'acme')).toEqual({ user: USER, tenant: TENANT });
});
