// Runs the tools behind `npm run check` and `npm test`, and reports a line for each.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { root } from './aliases.mjs';

/** Runs a command at the root. With `live` its output is shown as it comes; else it is returned. */
export function run(command, args, { live = false } = {}) {
  return new Promise((resolve) => {
    const stdio = live ? ['ignore', 'inherit', 'inherit'] : ['ignore', 'pipe', 'pipe'];
    const child = spawn(command, args, { cwd: root, stdio });
    const chunks = [];
    child.stdout?.on('data', (chunk) => chunks.push(chunk));
    child.stderr?.on('data', (chunk) => chunks.push(chunk));
    child.once('error', (error) => resolve({ ok: false, output: `${error.message}\n` }));
    child.once('close', (code) => resolve({ ok: code === 0, output: Buffer.concat(chunks).toString() }));
  });
}

/** Runs a tool of node_modules/.bin. */
export const tool = (name, args, options) => run(join(root, 'node_modules/.bin', name), args, options);

/** Does one step, prints its line, and its output only when it failed. Resolves to what the work gave. */
export async function step(name, work) {
  const startMs = performance.now();
  const result = await work();
  const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
  console.log(
    `${result.ok ? 'ok    ' : 'FAILED'} ${name.padEnd(18)} ${seconds.padStart(6)} s  ${result.note ?? ''}`.trimEnd(),
  );
  if (!result.ok && result.output) console.log(result.output.trimEnd());
  return result;
}
