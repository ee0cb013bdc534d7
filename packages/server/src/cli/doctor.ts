import { durationMs } from 'comporta';
import { type Finding, parseStoreUrl, redisStore, selfTest } from 'comporta/redis';
import { durationFault } from '../config/fields.js';
import { loadFile } from '../config/file.js';
import { formatProblem, type Problem } from '../config/problem.js';
import type { StoreSettings } from '../config/store.js';
import { type Command, UsageError, type Values } from './command.js';
import { describeStore } from './describe.js';

const TIMEOUT_MS = 50;

export const doctor: Command = {
  name: 'doctor',
  summary: 'say whether the store can decide, and what to do if it cannot',
  options: { config: { type: 'string', short: 'c' }, timeout: { type: 'string' }, json: { type: 'boolean' } },
  takesWord: true,
  help: `Tests the store of a configuration file, or the one at an address.

Usage: comporta doctor -c FILE [--timeout 50ms] [--json]
       comporta doctor redis://HOST:PORT [--timeout 50ms] [--json]

  -c, --config FILE   YAML or JSON; its store and its timeout are used
  --timeout TIME      time limit that round trips are judged by, in place of the file's
  --json              print the findings as JSON

Looks at connection, version, role, eviction, rights, scripts, speed, clocks, and the slots and replicas
of a cluster. Writes keys of its own only, and removes them. Exit code: 0 no errors, 1 errors, 2 wrong use
of this command.
`,
  run: runDoctor,
};

async function runDoctor(values: Values): Promise<number> {
  const target = targetOf(values);
  if ('problems' in target) {
    for (const line of target.problems) process.stderr.write(`${line}\n`);
    return 1;
  }
  const { store, timeoutMs } = target;
  const findings = store.url === 'memory' ? [MEMORY] : await examine(store, timeoutMs);
  const hasErrors = findings.some(({ level }) => level === 'error');
  const text = values.json === true ? `${JSON.stringify({ findings }, undefined, 2)}\n` : report(store.url, findings);
  process.stdout.write(text);
  return hasErrors ? 1 : 0;
}

const MEMORY: Finding = {
  level: 'ok',
  check: 'store',
  message: 'memory: counts live in each process, there is nothing to connect to',
  fix: undefined,
};

type Target = { readonly store: StoreSettings; readonly timeoutMs: number } | { readonly problems: readonly string[] };

function targetOf(values: Values): Target {
  const { word, config, timeout } = values;
  const fault = timeout === undefined ? undefined : durationFault(timeout, 1, 60_000);
  if (fault !== undefined) throw new UsageError(`doctor: --timeout: ${fault}`);
  const given = timeout === undefined ? undefined : durationMs(timeout, 'timeout');
  if ((word === undefined) === (config === undefined)) {
    throw new UsageError(
      'doctor: which store? Write: comporta doctor -c comporta.yaml, or comporta doctor redis://...',
    );
  }
  if (word !== undefined) return { store: { url: storeUrl(word), options: {} }, timeoutMs: given ?? TIMEOUT_MS };
  const file = String(config);
  const content = loadFile(file, process.env);
  if ('problems' in content) {
    return { problems: content.problems.map((problem: Problem) => formatProblem(file, problem)) };
  }
  const { store, gate } = content.config;
  return { store, timeoutMs: given ?? Number(gate.timeoutMs ?? TIMEOUT_MS) };
}

function storeUrl(word: string): string {
  try {
    parseStoreUrl(word);
    return word;
  } catch (error) {
    throw new UsageError(`doctor: ${error instanceof Error ? error.message : String(error)}`);
  }
}

async function examine({ url, options }: StoreSettings, timeoutMs: number): Promise<readonly Finding[]> {
  const store = redisStore(url, { ...options, onWarning: () => undefined });
  try {
    return await selfTest(store, { timeoutMs });
  } finally {
    await store.close();
  }
}

const LABELS = { ok: 'ok', warning: 'warning', error: 'ERROR' } as const;

/** One aligned line per finding, what to do about it below. */
function report(store: string, findings: readonly Finding[]): string {
  const lines = findings.flatMap(({ level, check, message, fix }) => [
    `${LABELS[level].padEnd(8)} ${check.padEnd(11)} ${message}`,
    ...(fix === undefined ? [] : [`${' '.repeat(21)}fix: ${fix}`]),
  ]);
  const count = (level: Finding['level'], word: string) => {
    const found = findings.filter((finding) => finding.level === level).length;
    return `${found} ${word}${found === 1 ? '' : 's'}`;
  };
  return `${describeStore(store)}\n${lines.join('\n')}\n${count('error', 'error')}, ${count('warning', 'warning')}\n`;
}
