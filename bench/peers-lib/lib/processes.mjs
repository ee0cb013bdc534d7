// Processes that do the work, each told what to do and asked for what came out; and the processors that they run on.
import { fork, spawnSync } from 'node:child_process';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';

const CHILD = fileURLToPath(new URL('../child.mjs', import.meta.url));
const canPin = cpus().length > 1 && spawnSync('taskset', ['-V']).status === 0;

/** Clients run on the first processor and servers on the second, so that neither takes time from the other. */
export const PLACES = canPin ? { client: '0', server: '1' } : {};

export function pin(pid, core) {
  if (core !== undefined) spawnSync('taskset', ['-acp', core, String(pid)]);
}

const started = new Set();
process.once('exit', () => {
  for (const child of started) child.kill('SIGKILL');
});

/** A process with the named subjects of a module, connected and ready. */
export async function startChild(module, names, at, core = PLACES.client) {
  const child = fork(CHILD, [], { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
  const waiting = new Map();
  let [last, complaint] = [0, ''];
  child.stderr.on('data', (text) => {
    complaint = (complaint + text).slice(-2000);
  });
  child.on('message', ({ id, result, error }) => {
    const { resolve, reject } = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) resolve(result);
    else reject(new Error(`${names.join(', ')}: ${error}`));
  });
  child.on('exit', (code) => {
    for (const { reject } of waiting.values())
      reject(new Error(`${names.join(', ')} ended with ${code}: ${complaint}`));
  });
  started.add(child);
  const ask = (what, asked) =>
    new Promise((resolve, reject) => {
      waiting.set(++last, { resolve, reject });
      child.send({ id: last, what, asked });
    });
  await ask('open', { module, names, at });
  // Not before: all of them start at once, with every processor.
  pin(child.pid, core);
  return { ask, stop: () => child.kill('SIGKILL') };
}
