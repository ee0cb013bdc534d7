import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';

let reaper: ChildProcess | undefined;

/**
 * Makes sure that a child (and its folder) does not outlive this process, also when this process is
 * killed, which no exit hook sees.
 */
export function watch(child: ChildProcess, folder?: string): void {
  const { pid } = child;
  if (pid === undefined) return;
  tell({ pid, folder });
  child.once('exit', () => tell({ pid, ended: true }));
}

function tell(message: object): void {
  reaper ??= start();
  reaper.stdin?.write(`${JSON.stringify(message)}\n`);
}

function start(): ChildProcess {
  const path = fileURLToPath(new URL('./reaper.mjs', import.meta.url));
  const child = spawn(process.execPath, [path], { stdio: ['pipe', 'ignore', 'inherit'], detached: true });
  child.unref();
  // A pipe is a socket: it must not keep this process alive either.
  (child.stdin as unknown as Socket).unref();
  return child;
}
