import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import { freePort } from '../support/ports.js';
import { watch } from '../support/reap.js';
import { until } from '../support/wait.js';

const folder = fileURLToPath(new URL('../../examples/', import.meta.url));
const examples = readdirSync(folder).filter((name) => readdirSync(`${folder}${name}`).includes('index.mjs'));

let running: ChildProcess | undefined;
afterEach(() => {
  running?.kill('SIGKILL');
});

test('there are examples', () => {
  expect(examples).toEqual(expect.arrayContaining(['express', 'fastify', 'fetch']));
});

test.each(examples)('the example %s starts, says what to try, and refuses the sixth request', async (name) => {
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
