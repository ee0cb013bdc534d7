import type { Problem } from '../config/problem.js';
import type { Fault } from '../config/store.js';
import { readDomains } from './files.js';
import type { EnvoyConfig } from './schema.js';
import { readTls } from './tls-files.js';

/** The section with names of files as this process can open them. */
export interface ResolvedEnvoy {
  readonly settings: EnvoyConfig | undefined;
  /** With their place in the configuration file. */
  readonly faults: readonly Fault[];
  /** In the files of domains, whose names they carry. */
  readonly problems: readonly Problem[];
}

/** Looks at the files that the section names; `at` says where a name is. */
export function resolveEnvoy(config: EnvoyConfig | undefined, at: (name: string) => string): ResolvedEnvoy {
  if (config === undefined) return { settings: undefined, faults: [], problems: [] };
  const { tls } = config;
  const tlsFiles = tls && { cert: at(tls.cert), key: at(tls.key), ...(tls.ca !== undefined && { ca: at(tls.ca) }) };
  const settings: EnvoyConfig = { ...config, config: config.config.map((name) => at(name)), tls: tlsFiles };
  const read = readDomains(settings.config, { mode: config.mode, mergesDomains: config.mergeDomains });
  const problems = 'problems' in read ? read.problems.map(({ file, problem }) => ({ ...problem, file })) : [];
  return { settings, faults: faultsOf(settings), problems };
}

function faultsOf({ mode, stopWhenOver, tls }: EnvoyConfig): readonly Fault[] {
  const faults: Fault[] = [];
  if (mode === 'strict' && stopWhenOver) {
    const message = 'changes nothing: in mode strict a refused request never charges anybody';
    faults.push({ path: ['envoy', 'stopWhenOver'], message, hint: 'remove it' });
  }
  const read = tls === undefined ? undefined : readTls(tls);
  return read !== undefined && 'faults' in read ? [...faults, ...read.faults] : faults;
}
