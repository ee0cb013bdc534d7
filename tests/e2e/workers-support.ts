import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'undici';
import { watch } from '../support/reap.js';
import { makeFolder, root } from './cli-support.js';
import { publish } from './envoy-support.js';
import { onCleanup, until } from './gateway-support.js';

export const TOKEN = 'an-operate-token-of-the-tests';

/** A file with every door on a free port and two workers; `rest` adds to it. */
export const fileOf = (rest: object): object => ({
  workers: 2,
  // Far above what a busy machine needs: nothing is decided without the store.
  timeout: '5s',
  gateway: { listen: '127.0.0.1:0', routes: [{ path: '/', upstream: 'echo' }] },
  api: { listen: '127.0.0.1:0' },
  admin: { listen: '127.0.0.1:0', tokens: [{ token: TOKEN, role: 'operate', name: 'ada' }], topSubjects: 'plain' },
  ...rest,
});

/** Counts all requests as one subject. */
export const policyOf = (limit: number): object => ({
  name: 'all',
  key: 'global',
  limits: { fixedWindow: { limit, window: '1d', align: 'first-hit' } },
});

/** A running `comporta serve`. */
export interface Running {
  readonly pid: number;
  readonly folder: string;
  port(name: 'gateway' | 'api' | 'admin' | 'envoy'): number;
  /** Replaces the file as a whole. */
  write(file: object): void;
  /** Standard output and standard error. */
  out(): string;
  log(): string;
  logs(text: string): Promise<void>;
  /** Process ids of the workers. */
  workers(): Promise<readonly number[]>;
  signal(name: NodeJS.Signals): void;
  exit: Promise<number | null>;
}

const BANNER = {
  gateway: /^gateway on http:\S+:(\d+)$/m,
  api: /^decision API on http:\/\/[^:/]+:(\d+)/m,
  admin: /^admin API on http:\/\/[^:/]+:(\d+)/m,
  envoy: /^envoy rate limit service on \S+:(\d+)$/m,
};

/** Starts it; resolves once it says what it does, or has ended. */
export async function serve(file: object, folder: string = makeFolder()): Promise<Running> {
  const path = join(folder, 'comporta.json');
  writeFileSync(path, JSON.stringify(file));
  const main = join(root, 'packages/server/dist/cli/main.js');
  const child = spawn(process.execPath, [main, 'serve', '-c', path], { stdio: ['ignore', 'pipe', 'pipe'] });
  watch(child);
  let [out, err] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (out += chunk));
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (err += chunk));
  let isOver = false;
  // Pipes close when no worker holds them either.
  const exit = once(child, 'close').then(([code]) => {
    isOver = true;
    return code as number | null;
  });
  onCleanup(() => {
    child.kill('SIGKILL');
    return exit;
  });
  await until(`the start; it says: ${err}`, () => isOver || `${out}${err}`.includes('\npolicy'), 30_000);
  const pid = child.pid ?? 0;
  return {
    pid,
    folder,
    port: (name) => Number(BANNER[name].exec(`${out}${err}`)?.[1]),
    write: (wanted) => publish(path, JSON.stringify(wanted)),
    out: () => out,
    log: () => err,
    logs: (text) => until(`"${text}" in:\n${err}`, () => err.includes(text)),
    workers: () => childrenOf(pid),
    signal: (name) => void child.kill(name),
    exit,
  };
}

async function childrenOf(pid: number): Promise<readonly number[]> {
  const { stdout } = await promisify(execFile)('pgrep', ['-P', String(pid)]);
  return stdout.trim().split('\n').map(Number);
}

/** Those that still run; one that has ended may wait for somebody to ask for its exit code. */
export async function running(pids: readonly number[]): Promise<readonly number[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,stat=']);
  const states = stdout.split('\n').map((line) => line.trim().split(/\s+/));
  return pids.filter((pid) => states.some(([id, state]) => Number(id) === pid && state?.startsWith('Z') === false));
}

/** One connection, whose requests follow each other: it stays with one worker for as long as that lives. */
export function connection(port: number): Client {
  const client = new Client(`http://127.0.0.1:${port}`, { headersTimeout: 3000 });
  onCleanup(() => client.destroy());
  return client;
}

export interface Loaded {
  readonly statuses: number[];
  /** Of each connection. */
  readonly failed: number[];
  stop(): Promise<void>;
}

/** Requests on so many connections, one at a time on each, until stopped. */
export function load(port: number, connections: number): Loaded {
  let isRunning = true;
  const statuses: number[] = [];
  const failed = Array<number>(connections).fill(0);
  const work = failed.map(async (_, i) => {
    const client = connection(port);
    while (isRunning) {
      try {
        const { statusCode, body } = await client.request({ method: 'GET', path: '/' });
        await body.dump();
        statuses.push(statusCode);
      } catch {
        failed[i] = (failed[i] ?? 0) + 1;
      }
    }
  });
  return {
    statuses,
    failed,
    stop: async () => {
      isRunning = false;
      await Promise.all(work);
    },
  };
}

/** Value of one sample of a scrape; `undefined` when it is not there. */
export function valueIn(text: string, sample: string): number | undefined {
  const line = text.split('\n').find((each) => each.startsWith(`${sample} `));
  return line === undefined ? undefined : Number(line.slice(sample.length + 1));
}
