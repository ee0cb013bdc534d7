import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { freePort } from '../support/ports.js';
import { watch } from '../support/reap.js';
import { until } from '../support/wait.js';

const file = fileURLToPath(new URL('../../examples/websocket/index.mjs', import.meta.url));

/** Runs the example on a free port until the test is over. */
async function start() {
  const port = await freePort();
  const env = { ...process.env, PORT: String(port) };
  const child = spawn(process.execPath, [file], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  watch(child);
  onTestFinished(() => void child.kill('SIGKILL'));
  let said = '';
  child.stdout.on('data', (text: Buffer) => {
    said += text.toString();
  });
  await until(() => said.includes('try: '), { what: 'the start of the example' });
  return { port, child, said: () => said };
}

/** An open socket, or the status of the refusal. */
async function open(port: number): Promise<WebSocket | number> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}`);
  socket.on('error', () => undefined);
  const refused = once(socket, 'unexpected-response').then(([, response]) => Number(response.statusCode));
  return Promise.race([once(socket, 'open').then(() => socket), refused]);
}

test('the example websocket lets three sockets in, and one more for each that closes', async () => {
  const { port, child } = await start();
  const sockets: WebSocket[] = [];
  const enter = async (): Promise<number> => {
    const entered = await open(port);
    if (typeof entered === 'number') return entered;
    sockets.push(entered);
    return 101;
  };
  expect([await enter(), await enter(), await enter(), await enter(), await enter()]).toEqual([
    101, 101, 101, 429, 429,
  ]);
  const [first, second] = sockets as [WebSocket, WebSocket];
  first.send('hello');
  expect(String((await once(first, 'message'))[0])).toBe('hello');
  first.close();
  await until(async () => (await enter()) === 101, { what: 'the place of a socket that was closed' });
  second.terminate();
  await until(async () => (await enter()) === 101, { what: 'the place of a socket that broke' });
  expect(await enter()).toBe(429);
  const ended = once(child, 'close');
  child.kill('SIGTERM');
  expect(await ended, 'no timer and no socket is left').toEqual([0, null]);
});

test('what the example says to try opens three sockets and is refused the fourth', async () => {
  const { said } = await start();
  const [, command = ''] = /^try: (.*)$/m.exec(said()) ?? [];
  const child = spawn('sh', ['-c', command], { stdio: ['ignore', 'pipe', 'inherit'] });
  watch(child);
  onTestFinished(() => void child.kill('SIGKILL'));
  let told = '';
  child.stdout.on('data', (text: Buffer) => {
    told += text.toString();
  });
  await once(child, 'close');
  expect(told.trim().split('\n').toSorted()).toEqual(['101', '101', '101', '429']);
});
