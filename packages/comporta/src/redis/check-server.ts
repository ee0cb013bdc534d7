import { fieldsOf } from './asked.js';
import type { RedisNode } from './client.js';
import { lacksRight } from './explain.js';
import { cannotTell, type Finding, failure, ok, warning } from './finding.js';

/** What a server says of itself in INFO, or as far as HELLO says it too, when its user may not read INFO. */
export interface ServerInfo {
  readonly fields: ReadonlyMap<string, string>;
  readonly isWhole: boolean;
}

export async function askInfo(node: RedisNode): Promise<ServerInfo> {
  try {
    return { fields: readInfo(await node.send(['INFO'])), isWhole: true };
  } catch (error) {
    if (!lacksRight(error)) throw error;
    return { fields: readHello(await node.send(['HELLO'])), isWhole: false };
  }
}

function readInfo(reply: unknown): ReadonlyMap<string, string> {
  const lines = String(reply).split(/\r?\n/);
  return new Map(lines.filter((line) => line.includes(':')).map((line) => line.split(/:(.*)/s, 2) as [string, string]));
}

/** Every user may give HELLO. */
function readHello(reply: unknown): ReadonlyMap<string, string> {
  const fields = fieldsOf(reply);
  const text = (name: string) => String(fields.get(name));
  return new Map([
    [text('server') === 'valkey' ? 'valkey_version' : 'redis_version', text('version')],
    ['redis_mode', text('mode')],
    ['role', text('role') === 'replica' ? 'slave' : text('role')],
  ]);
}

/** What a server tells of itself. `isCluster` is what the client takes it for. */
export function checkServer({ fields, isWhole }: ServerInfo, isCluster: boolean): Finding[] {
  const place = [checkVersion(fields), checkMode(fields, isCluster)];
  if (isMisplaced(place)) return place.filter(({ level }) => level === 'error');
  if (!isWhole) return [...place, cannotTell('eviction', 'eviction and persistence', '+info')];
  return [...place, ...checkEviction(fields), ...checkPersistence(fields)];
}

/** True when this is no place for decisions, so that there is nothing more to look at. */
export function isMisplaced(findings: readonly Finding[]): boolean {
  return findings.some(({ check, level }) => check === 'mode' && level === 'error');
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
  const wrong = (what: string, fix: string) => failure('mode', what, fix);
  if (mode === 'sentinel') {
    const fix = 'write redis-sentinel://HOST:PORT/NAME, with the name that the Sentinels give the primary';
    return wrong('a Sentinel, which holds no data', fix);
  }
  if (mode === 'cluster' && !isCluster) {
    return wrong('a node of a cluster, used as a single server', 'write redis-cluster://, or use a Cluster client');
  }
  if (info.get('role') === 'slave') {
    const primary = info.has('master_host') ? ` at ${info.get('master_host')}:${info.get('master_port')}` : '';
    return wrong('a replica, which takes no writes', `give the address of its primary${primary}`);
  }
  if (mode === 'cluster') return ok('mode', 'cluster, primary');
  const replicas = info.get('connected_slaves');
  return ok('mode', replicas === undefined ? 'single server, primary' : `single server, ${replicas} replicas`);
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
