import { cannotTell, type Finding, failure, ok, warning } from './finding.js';

/** The lines of INFO; `undefined` when the user may not read them. */
export type Info = ReadonlyMap<string, string> | undefined;

export function readInfo(reply: unknown): ReadonlyMap<string, string> {
  const lines = String(reply).split(/\r?\n/);
  return new Map(lines.filter((line) => line.includes(':')).map((line) => line.split(/:(.*)/s, 2) as [string, string]));
}

/** What INFO tells of one server. `isCluster` is what the client takes it for. */
export function checkServer(info: Info, isCluster: boolean): Finding[] {
  if (info === undefined) {
    const what = 'version, role, eviction and persistence';
    return [cannotTell('server', what, '+info')];
  }
  return [checkVersion(info), checkMode(info, isCluster), ...checkEviction(info), ...checkPersistence(info)];
}

function checkVersion(info: ReadonlyMap<string, string>): Finding {
  // Valkey names a Redis version too, for old clients.
  const valkey = info.get('valkey_version');
  const version = valkey ?? info.get('redis_version');
  if (version === undefined) return warning('server', 'the server does not say its version', 'Redis 7 or Valkey 8');
  const name = valkey === undefined ? 'Redis' : 'Valkey';
  const [oldest, wanted] = valkey === undefined ? [7, 'Redis 7.0'] : [8, 'Valkey 8.0'];
  if (Number.parseInt(version, 10) >= oldest) return ok('server', `${name} ${version}`);
  return failure('server', `${name} ${version} is too old`, `update it to ${wanted} or later`);
}

function checkMode(info: ReadonlyMap<string, string>, isCluster: boolean): Finding {
  const mode = info.get('redis_mode') ?? info.get('server_mode') ?? 'standalone';
  if (info.get('role') === 'slave')
    return failure('mode', 'a replica, which takes no writes', 'connect to the primary');
  if (mode === 'sentinel') return failure('mode', 'a Sentinel, which holds no data', 'connect to the primary itself');
  if (mode === 'cluster' && !isCluster) {
    return failure('mode', 'a node of a cluster, used as a single server', 'use redis-cluster:// or a Cluster client');
  }
  return ok(
    'mode',
    mode === 'cluster' ? 'cluster, primary' : `single server, ${info.get('connected_slaves') ?? 0} replicas`,
  );
}

function checkEviction(info: ReadonlyMap<string, string>): Finding[] {
  const policy = info.get('maxmemory_policy');
  const evicted = Number(info.get('evicted_keys') ?? 0);
  const findings: Finding[] = [];
  if (policy === undefined) {
    findings.push(warning('eviction', 'the server does not say its policy', 'see to it that it is noeviction'));
  } else if (policy === 'noeviction' || policy === 'volatile-ttl') {
    findings.push(ok('eviction', `maxmemory-policy ${policy}`));
  } else {
    const message = `maxmemory-policy ${policy} drops live counts when memory is short`;
    findings.push(warning('eviction', message, 'CONFIG SET maxmemory-policy noeviction, on a server of its own'));
  }
  if (evicted > 0) {
    const message = `${evicted} keys were evicted: the limits they held started anew`;
    findings.push(warning('eviction', message, 'give the server more memory, or limits a server of their own'));
  }
  return findings;
}

function checkPersistence(info: ReadonlyMap<string, string>): Finding[] {
  const fix = 'free its disk or mend its rights to write there: the server refuses writes (MISCONF) meanwhile';
  if (info.get('loading') === '1') return [failure('disk', 'the server is still reading its data', 'wait')];
  if (info.get('aof_last_write_status') === 'err')
    return [failure('disk', 'the append-only file cannot be written', fix)];
  if (info.get('rdb_last_bgsave_status') === 'err') return [warning('disk', 'the last snapshot failed', fix)];
  return [ok('disk', 'no failed save')];
}
