import type { Store } from 'comporta';
import type { ServerConfig } from '../config/config.js';
import { formatProblem } from '../config/problem.js';
import type { Log } from '../log.js';
import { type DomainContent, readDomains } from './files.js';
import type { LimiterSettings, OnLimiter } from './limiters.js';
import type { EnvoyConfig } from './schema.js';
import { RateLimitService, type ServiceOptions } from './service.js';

export interface InForceOptions {
  readonly store: Store;
  readonly onLimiter: OnLimiter;
  readonly log: Log;
  /** Files of domains were read again: whether they are in force now. */
  readonly onReload?: ((isGood: boolean) => void) | undefined;
}

/** The service that answers at the moment. Counts are in the store by name: another service goes on with them. */
export class InForce {
  readonly #options: InForceOptions;
  readonly #endings: Set<Promise<void>> = new Set();
  #config: ServerConfig;
  /** As last read, good or bad. */
  #content: DomainContent;
  #key: string;
  #service: RateLimitService;

  /** Throws when the files of domains cannot be used. */
  constructor(config: ServerConfig, options: InForceOptions) {
    this.#options = options;
    this.#config = config;
    this.#content = this.#read(config);
    this.#key = keyOf(config, this.#content);
    this.#service = this.#build(config, this.#content);
  }

  get service(): RateLimitService {
    return this.#service;
  }

  /** Follows a changed configuration; throws, and changes nothing, when its files of domains cannot be used. */
  apply(config: ServerConfig): void {
    const content = this.#read(config);
    if ('problems' in content) throw new Error(summaryOf(content.problems));
    const wasBad = 'problems' in this.#content;
    this.#config = config;
    this.#put(content);
    if (wasBad) this.#options.onReload?.(true);
  }

  /** Follows changed files of domains; keeps the last good ones when they cannot be used. */
  reload(): void {
    const { log, onReload } = this.#options;
    const known = this.#content;
    const content = this.#read(this.#config, known);
    if (content === known) return;
    if ('problems' in content) {
      this.#content = content;
      log.error(`domains not reloaded, the last good ones stay in force: ${summaryOf(content.problems)}`);
    } else {
      this.#put(content);
      log.info('domains reloaded', { domains: content.domains.size, files: content.files.length });
    }
    onReload?.(!('problems' in content));
  }

  /** Resolves when all that was asked is decided, and nothing is left open. */
  async close(): Promise<void> {
    this.#retire(this.#service);
    await Promise.all(this.#endings);
  }

  #read({ envoy }: ServerConfig, known?: DomainContent): DomainContent {
    const { config, mode, mergeDomains } = envoy as EnvoyConfig;
    return readDomains(config, { mode, mergesDomains: mergeDomains }, known);
  }

  /** What changes nothing leaves the service as it is, with what it knows. */
  #put(content: DomainContent): void {
    const key = keyOf(this.#config, content);
    this.#content = content;
    if (key === this.#key) return;
    const service = this.#build(this.#config, content);
    this.#retire(this.#service);
    this.#service = service;
    this.#key = key;
  }

  #build(config: ServerConfig, content: DomainContent): RateLimitService {
    if ('problems' in content) throw new Error(summaryOf(content.problems));
    const { store, onLimiter } = this.#options;
    const { limiters, ...options } = optionsOf(config);
    return new RateLimitService(content.domains, { ...options, limiters: { ...limiters, store }, onLimiter });
  }

  #retire(service: RateLimitService): void {
    const ending: Promise<void> = service.close().then(() => void this.#endings.delete(ending));
    this.#endings.add(ending);
  }
}

const keyOf = (config: ServerConfig, { texts }: DomainContent): string => JSON.stringify([optionsOf(config), texts]);

/** All that decides of a service but its domains and its store. */
function optionsOf({ gate, envoy }: ServerConfig): Omit<ServiceOptions, 'onLimiter'> {
  const { mode, headers, shadow, quota, stopWhenOver, timeout, onStoreFailure } = envoy as EnvoyConfig;
  const { instances = 'auto', payBack = true } = gate;
  const failure = onStoreFailure ?? gate.onStoreFailure ?? 'local';
  const limiters: LimiterSettings = {
    timeoutMs: timeout,
    onStoreFailure: failure,
    ...(failure === 'local' && { instances, payBack }),
  };
  return { mode, limiters, addsHeaders: headers, isShadow: shadow, isQuota: quota, stopsWhenOver: stopWhenOver };
}

function summaryOf(problems: Extract<DomainContent, { problems: unknown }>['problems']): string {
  const [first] = problems;
  const words = first === undefined ? 'unusable' : formatProblem(first.file, first.problem);
  return problems.length > 1 ? `${words} (and ${problems.length - 1} more)` : words;
}
