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
const HOST = /^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(:\d{1,5})?$/;
const KINDS = { '': 'single', '-cluster': 'cluster', '-sentinel': 'sentinel' } as const;

/** Reads a store URL; throws `ERR_OPTION` without repeating the password. */
export function parseStoreUrl(text: string): Address {
  const match = /^(rediss?)(-cluster|-sentinel)?:\/\/(?:([^@/]*)@)?([^@/]+)(?:\/([^@]*))?$/.exec(text);
  const [, scheme = '', suffix = '', login = '', hostList = '', path = ''] = match ?? [];
  const kind = KINDS[suffix as keyof typeof KINDS];
  const hosts = hostList.split(',');
  const parts = (kind === 'sentinel' ? /^([A-Za-z0-9_.-]+)(?:\/(\d*))?$/ : /^()(\d*)$/).exec(path);
  if (match === null || parts === null || !hosts.every((host) => HOST.test(host)) || (kind === 'single' && hosts[1])) {
    const shown = text.replace(/\/\/[^@]*@/, '//***@');
    throw new ComportaError('ERR_OPTION', `store: expected ${FORMS}, got ${show(shown)}`, 'store');
  }
  const [username, password] = login.split(/:(.*)/s).map(decodeURIComponent);
  const tail = kind === 'single' && path !== '' ? `/${path}` : '';
  return {
    kind,
    urls: hosts.map((host) => `${scheme}://${host}${tail}`),
    username: username || undefined,
    password: password || undefined,
    isTls: scheme === 'rediss',
    primaryName: parts[1] ?? '',
    database: Number(parts[2] ?? 0),
  };
}
