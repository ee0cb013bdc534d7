import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { freePort } from '../support/ports.js';
import { watch } from '../support/reap.js';
import { startServer } from '../support/servers.js';
import { sleep, until } from '../support/wait.js';

const file = fileURLToPath(new URL('../../examples/serverless/index.mjs', import.meta.url));

interface Environment {
  ask(): Promise<Response>;
  /** The lines of metrics that it wrote, parsed. */
  metrics(): readonly Record<string, unknown>[];
}

/** Runs the example of the guide as one environment of a function. */
async function start(redisUrl: string): Promise<Environment> {
  const port = await freePort();
  const env = { ...process.env, PORT: `${port}`, REDIS_URL: redisUrl };
  const child: ChildProcess = spawn(process.execPath, [file], { env, stdio: ['ignore', 'pipe', 'ignore'] });
  watch(child);
  onTestFinished(() => void child.kill('SIGKILL'));
  let said = '';
  child.stdout?.on('data', (text: Buffer) => {
    said += text.toString();
  });
  await until(() => said.includes('try: '), { what: 'start of the example' });
  return {
    ask: () => fetch(`http://127.0.0.1:${port}/`),
    metrics: () =>
      said
        .split('\n')
        .filter((line) => line.startsWith('{'))
        .map((line) => JSON.parse(line) as Record<string, unknown>),
  };
}

test('two environments of the guide’s function keep one limit, and let requests through with an alarm', async () => {
  await using server = await startServer();
  const [one, two] = [await start(server.url), await start(server.url)];
  const statuses: number[] = [];
  for (const { ask } of [one, two, one, two, one, two, one]) statuses.push((await ask()).status);
  expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429]);
  await until(() => one.metrics().length + two.metrics().length === 2, { what: 'a line for each refusal' });
  expect(two.metrics()).toMatchObject([{ policy: 'per-client', denied: 1 }]);
  await server.kill();
  // What was refused last is refused from memory for 20 ms.
  await sleep(30);
  const open = [await one.ask(), await one.ask()];
  expect(open.map(({ status, headers }) => [status, headers.get('ratelimit')])).toEqual(Array(2).fill([200, null]));
  const degraded = await until(() => one.metrics().find((line) => line.degraded === 1), { what: 'the alarm' });
  const CloudWatchMetrics = [
    { Namespace: 'comporta', Dimensions: [['policy']], Metrics: [{ Name: 'degraded', Unit: 'Count' }] },
  ];
  expect(degraded).toMatchObject({ _aws: { Timestamp: expect.any(Number), CloudWatchMetrics }, policy: 'per-client' });
});
