import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import { run } from '../package/packed.js';
import { freePort } from '../support/ports.js';
import { watch } from '../support/reap.js';
import { until } from '../support/wait.js';

const folder = fileURLToPath(new URL('../../examples/', import.meta.url));
const examples = readdirSync(folder).filter((name) => readdirSync(`${folder}${name}`).includes('index.mjs'));
/** Those that have tests of their own are not asked six times. */
const servers = examples.filter((name) => !['grpc', 'llm-budget', 'outbound', 'websocket'].includes(name));

let running: ChildProcess | undefined;
afterEach(() => {
  running?.kill('SIGKILL');
});

test('there are examples', () => {
  expect(examples).toEqual(expect.arrayContaining(['express', 'fastify', 'fetch', 'outbound']));
});

test.each(servers)('the example %s starts, says what to try, and refuses the sixth request', async (name) => {
  const port = await freePort();
  const env = { ...process.env, PORT: String(port) };
  const child = spawn(process.execPath, [`${folder}${name}/index.mjs`], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  running = child;
  watch(child);
  let said = '';
  child.stdout.on('data', (text: Buffer) => {
    said += text.toString();
  });
  await until(() => said.includes('try: '), { what: `start of the example ${name}` });
  const statuses: number[] = [];
  for (let i = 0; i < 6; i++) statuses.push((await fetch(`http://127.0.0.1:${port}/`)).status);
  expect(statuses).toEqual([200, 200, 200, 200, 200, 429]);
});

test('the example outbound sends six requests, waits for its turns, is never refused, and ends', async () => {
  const child = spawn(process.execPath, [`${folder}outbound/index.mjs`], { stdio: ['ignore', 'pipe', 'inherit'] });
  running = child;
  watch(child);
  let said = '';
  child.stdout.on('data', (text: Buffer) => {
    said += text.toString();
  });
  const code = await new Promise((resolve) => child.once('close', resolve));
  const answers = [...said.matchAll(/^(\d): (\d+) hello after (\d+) ms$/gm)];
  expect(answers.map(([, name, status]) => `${name} ${status}`)).toEqual([1, 2, 3, 4, 5, 6].map((n) => `${n} 200`));
  expect(Number(answers[5]?.[3])).toBeGreaterThanOrEqual(2500);
  expect(said).not.toContain('refused');
  expect(code).toBe(0);
});

const suites = readdirSync(`${folder}testing`).filter((name) => name.endsWith('.test.mjs'));

test.each(suites)("the example testing/%s passes on Node's own runner", async (name) => {
  const { ok, output } = await run(folder, process.execPath, '--test', `testing/${name}`);
  expect(ok, output).toBe(true);
  expect(Number(/pass (\d+)$/m.exec(output)?.[1])).toBeGreaterThan(2);
});
