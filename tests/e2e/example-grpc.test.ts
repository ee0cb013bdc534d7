import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { freePort } from '../support/ports.js';
import { watch } from '../support/reap.js';
import { until } from '../support/wait.js';

const folder = fileURLToPath(new URL('../../examples/grpc/', import.meta.url));

/** Runs one file of the example; what it says so far. */
function start(file: string, port: number) {
  const env = { ...process.env, PORT: String(port) };
  const child = spawn(process.execPath, [`${folder}${file}`], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  watch(child);
  let said = '';
  child.stdout.on('data', (text: Buffer) => {
    said += text.toString();
  });
  return { child, said: () => said };
}

test('the example grpc answers five calls of its client, and refuses the sixth with the time to wait', async () => {
  const port = await freePort();
  const server = start('index.mjs', port);
  await until(() => server.said().includes('try: '), { what: 'start of the server' });
  const client = start('client.mjs', port);
  await until(() => client.child.exitCode !== null, { what: 'end of the client' });
  expect(client.child.exitCode).toBe(0);
  const lines = client.said().trimEnd().split('\n');
  expect(lines.slice(0, 5)).toEqual([1, 2, 3, 4, 5].map((i) => `${i}: hello you`));
  expect(lines[5]).toMatch(/^6: RESOURCE_EXHAUSTED, come back in \d{1,4} ms: per-client allows 5 requests at once/);
  expect(lines).toHaveLength(6);
});
