import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Connection } from './connection.js';
import { freePort } from './ports.js';
import { watch } from './reap.js';
import { findServers, type Server, type ServerKind, startServer } from './servers.js';
import { until } from './wait.js';

export interface Sentinels {
  readonly ports: readonly number[];
  /** Resolves once each knows the primary, its replica and the other Sentinels. */
  settled(): Promise<void>;
  /** They keep their connections and answer nothing, until they are thawed. */
  freeze(): void;
  thaw(): void;
  stop(): void;
}

/** A replica that its primary knows: Sentinels hear of it at once when they start, and else ten seconds later. */
export async function startReplica(primary: Server, args: readonly string[] = []): Promise<Server> {
  // Else it waits five seconds for others who might want the same copy.
  const atOnce = 'repl-diskless-sync-delay';
  await primary.command('CONFIG', 'SET', atOnce, '0');
  const follow = ['--replicaof', `127.0.0.1 ${primary.port}`, `--${atOnce}`, '0'];
  const replica = await startServer({ kind: primary.kind, args: [...args, ...follow] });
  const isKnown = async () => String(await primary.command('INFO', 'replication')).includes('state=online');
  await until(isKnown, { what: 'a replica in step', timeoutMs: 30_000 });
  return replica;
}

/** Real Sentinels that watch a primary under a name and need two votes to replace it. */
export async function startSentinels(
  kind: ServerKind,
  primary: Server,
  name: string,
  more: readonly string[] = [],
): Promise<Sentinels> {
  const started: ChildProcess[] = [];
  const ports: number[] = [];
  for (let i = 0; i < 3; i++) {
    const dir = mkdtempSync(join(tmpdir(), 'comporta-sentinel-'));
    const port = await freePort();
    const file = join(dir, 'sentinel.conf');
    const settings = [
      `port ${port}`,
      'bind 127.0.0.1',
      `dir ${dir}`,
      `sentinel monitor ${name} 127.0.0.1 ${primary.port} 2`,
      `sentinel down-after-milliseconds ${name} 500`,
      `sentinel failover-timeout ${name} 2000`,
      ...more,
    ];
    writeFileSync(file, `${settings.join('\n')}\n`);
    const child = spawn(findServers()[kind] ?? '', [file, '--sentinel'], { stdio: 'ignore' });
    watch(child, dir);
    child.once('exit', () => rmSync(dir, { recursive: true, force: true }));
    started.push(child);
    ports.push(port);
  }
  const signal = (name: NodeJS.Signals) => {
    for (const child of started) child.kill(name);
  };
  return {
    ports,
    settled: async () => {
      for (const port of ports) await until(() => isSettled(port, name), { what: `Sentinel ${port} to know all` });
    },
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
    stop: () => signal('SIGKILL'),
  };
}

async function isSettled(port: number, name: string): Promise<boolean> {
  const connection = await Connection.open(port);
  try {
    const fields = (await connection.command('SENTINEL', 'MASTER', name)) as string[];
    const value = (field: string) => fields[fields.indexOf(field) + 1];
    return value('num-slaves') === '1' && value('num-other-sentinels') === '2' && value('flags') === 'master';
  } finally {
    connection.close();
  }
}
