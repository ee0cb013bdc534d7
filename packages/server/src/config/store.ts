import { X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { parseStoreUrl, type RedisStoreOptions } from 'comporta/redis';
import type { Path } from './problem.js';
import { shownName } from './shown.js';
import type { StoreConfig, TlsConfig } from './types.js';

/** A store that can be opened: the text of files in place of their names. */
export interface StoreSettings {
  readonly url: string;
  readonly options: Pick<RedisStoreOptions, 'tls' | 'natMap' | 'sentinel'>;
}

/** Reads a file that the configuration names; throws when it cannot. */
export type ReadFile = (name: string) => string;

export interface Fault {
  readonly path: Path;
  readonly message: string;
  readonly hint: string;
}

/** Puts files in place of their names, and says which settings cannot work. */
export function resolveStore(
  { url, tls, natMap, sentinel }: StoreConfig,
  read: ReadFile,
): { readonly settings: StoreSettings; readonly faults: readonly Fault[] } {
  const faults: Fault[] = misplaced({ url, tls, natMap, sentinel });
  const resolved = tls === undefined ? undefined : resolveTls(tls, read, faults);
  const options = {
    ...(resolved !== undefined && { tls: resolved }),
    ...(natMap !== undefined && { natMap }),
    ...(sentinel !== undefined && { sentinel: withoutUndefined(sentinel) }),
  };
  return { settings: { url, options }, faults };
}

/** Whether subjects spread over several masters. */
export const isCluster = (url: string): boolean => url !== 'memory' && parseStoreUrl(url).kind === 'cluster';

/** Settings that would be silently without effect at such an address. */
function misplaced({ url, tls, natMap, sentinel }: StoreConfig): Fault[] {
  const { kind, isTls } = url === 'memory' ? { kind: 'memory', isTls: false } : parseStoreUrl(url);
  const fault = (name: string, message: string, hint: string): Fault => ({ path: ['store', name], message, hint });
  return [
    ...(tls !== undefined && !isTls ? [fault('tls', 'needs TLS', 'write rediss for redis in store.url')] : []),
    ...(natMap !== undefined && kind !== 'cluster' && kind !== 'sentinel'
      ? [fault('natMap', 'needs a cluster or Sentinels', 'write redis-cluster:// or redis-sentinel:// in store.url')]
      : []),
    ...(sentinel !== undefined && kind !== 'sentinel'
      ? [fault('sentinel', 'needs Sentinels', 'write redis-sentinel:// in store.url, or put the login in the address')]
      : []),
  ];
}

type Tls = NonNullable<StoreSettings['options']['tls']>;
type TlsFiles = Pick<TlsConfig, 'ca' | 'cert' | 'key'>;

/** What the files of a `tls` hold. */
export interface TlsTexts {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

const FILES = ['ca', 'cert', 'key'] as const;

function resolveTls(tls: TlsConfig, read: ReadFile, faults: Fault[]): Tls {
  const { servername, rejectUnauthorized } = tls;
  const texts = readTlsFiles('store', tls, read, faults);
  return { ...texts, ...(servername !== undefined && { servername }), rejectUnauthorized };
}

/** Texts of the files that the `tls` of a section names; what cannot be used is added to the faults. */
export function readTlsFiles(section: string, tls: TlsFiles, read: ReadFile, faults: Fault[]): TlsTexts {
  /** Node's own reading; its words for a fault hold nothing of a file's content. */
  const judge = (name: string, use: () => unknown, hint: string): void => {
    try {
      use();
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      faults.push({ path: [section, 'tls', name], message: `cannot be used: ${why}`, hint });
    }
  };
  const texts: { ca?: string; cert?: string; key?: string } = {};
  for (const name of FILES) {
    const file = tls[name];
    if (file === undefined) continue;
    try {
      texts[name] = read(file);
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? String(error);
      const message =
        code === 'ENOENT' ? `there is no file ${shownName(file)}` : `${shownName(file)} cannot be read: ${code}`;
      faults.push({ path: [section, 'tls', name], message, hint: "names are relative to this file's folder" });
    }
  }
  checkPair(section, tls, faults);
  const { ca, cert, key } = texts;
  const certificate = 'expected -----BEGIN CERTIFICATE-----';
  if (ca !== undefined) judge('ca', () => new X509Certificate(ca), certificate);
  if (cert !== undefined) judge('cert', () => new X509Certificate(cert), certificate);
  const isPair = cert !== undefined && key !== undefined && faults.length === 0;
  if (isPair) judge('key', () => createSecureContext({ cert, key }), 'it must be the key of the certificate');
  return texts;
}

function checkPair(section: string, { cert, key }: TlsFiles, faults: Fault[]): void {
  if ((cert === undefined) === (key === undefined)) return;
  const [given, wanted] = cert === undefined ? ['key', 'cert'] : ['cert', 'key'];
  faults.push({ path: [section, 'tls', given], message: `needs ${wanted} too`, hint: `add ${section}.tls.${wanted}` });
}

function withoutUndefined(login: NonNullable<StoreConfig['sentinel']>): { username?: string; password?: string } {
  const { username, password } = login;
  return { ...(username !== undefined && { username }), ...(password !== undefined && { password }) };
}
