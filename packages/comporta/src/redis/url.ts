import { ComportaError, show } from '../core/errors.js';

/** A store URL, taken apart. */
export interface Address {
  readonly kind: 'single' | 'cluster' | 'sentinel';
  /** `redis://` or `rediss://` URLs of one server, of some nodes of a cluster, or of Sentinels. */
  readonly urls: readonly string[];
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly isTls: boolean;
  /** What Sentinels call the primary, and the number of its database. */
  readonly primaryName: string;
  readonly database: number;
}

const FORMS =
  'redis://host:port, redis-cluster://host:port,host:port, redis-sentinel://host:port,host:port/name, or rediss... for TLS';
const HOST = /^(?:\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::(\d{1,5}))?$/;
const KINDS = { '': 'single', '-cluster': 'cluster', '-sentinel': 'sentinel' } as const;
/** What may follow the hosts: a database; nothing, since a cluster has one only; a name and a database. */
const PATHS = { single: /^()(\d*)$/, cluster: /^()()$/, sentinel: /^([A-Za-z0-9_.-]+)(?:\/(\d*))?$/ } as const;

/** Reads a store URL; throws `ERR_OPTION` without repeating the password. */
export function parseStoreUrl(text: string): Address {
  const address = read(text);
  if (address !== undefined) return address;
  // To the last @, for a password may hold one.
  const shown = text.replace(/\/\/.*@/s, '//***@');
  throw new ComportaError('ERR_OPTION', `store: expected ${FORMS}, got ${show(shown)}`, 'store');
}

function read(text: string): Address | undefined {
  const match = /^(rediss?)(-cluster|-sentinel)?:\/\/(?:([^@/]*)@)?([^@/]+)(?:\/([^@]*))?$/.exec(text);
  if (match === null) return undefined;
  const [, scheme = '', suffix = '', login = '', hostList = '', path = ''] = match;
  const kind = KINDS[suffix as keyof typeof KINDS];
  const hosts = hostList.split(',');
  const parts = PATHS[kind].exec(path);
  const names = credentials(login);
  if (parts === null || names === undefined || !hosts.every(isHost)) return undefined;
  if (kind === 'single' && hosts.length > 1) return undefined;
  const tail = kind === 'single' && path !== '' ? `/${path}` : '';
  return {
    kind,
    urls: hosts.map((host) => `${scheme}://${host}${tail}`),
    ...names,
    isTls: scheme === 'rediss',
    primaryName: parts[1] ?? '',
    database: Number(parts[2] || 0),
  };
}

function isHost(text: string): boolean {
  const match = HOST.exec(text);
  return match !== null && (match[1] === undefined || (Number(match[1]) >= 1 && Number(match[1]) <= 65_535));
}

/** `undefined` when the percent-encoding is none. */
function credentials(login: string): Pick<Address, 'username' | 'password'> | undefined {
  try {
    const [username, password] = login.split(/:(.*)/s).map(decodeURIComponent);
    return { username: username || undefined, password: password || undefined };
  } catch {
    return undefined;
  }
}
