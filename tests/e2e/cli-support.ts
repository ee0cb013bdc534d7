import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onCleanup, until } from './gateway-support.js';

export const root: string = join(import.meta.dirname, '../..');
const main = join(root, 'packages/server/dist/cli/main.js');

/** A running `comporta` command. */
export interface Command {
  /** Everything printed so far. */
  output(): string;
  /** Ports of the gateway and of health, once printed. */
  ports(): Promise<{ readonly gateway: number; readonly health: number }>;
  says(text: string): Promise<void>;
  signal(name: NodeJS.Signals): void;
  exit(): Promise<number | null>;
}

export function runCommand(words: readonly string[], environment: Readonly<Record<string, string>> = {}): Command {
  const child = spawn(process.execPath, [main, ...words], { env: { ...process.env, ...environment }, cwd: tmpdir() });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  const ended = once(child, 'close').then(([code]) => code as number | null);
  onCleanup(() => {
    child.kill('SIGKILL');
    return ended;
  });
  const says = (text: string) => until(`"${text}" in:\n${output}`, () => output.includes(text));
  return {
    output: () => output,
    says,
    ports: async () => {
      // The line of the store comes after those of the ports; a warning before them may speak of it, too.
      await until(`ports in:\n${output}`, () => /gateway on [\s\S]*\bstore (?!at )/.test(output));
      const port = (name: string) => Number(new RegExp(`${name} on http://127\\.0\\.0\\.1:(\\d+)`).exec(output)?.[1]);
      return { gateway: port('gateway'), health: port('decision API') };
    },
    signal: (name) => void child.kill(name),
    exit: () => ended,
  };
}

export function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'comporta-'));
  onCleanup(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
