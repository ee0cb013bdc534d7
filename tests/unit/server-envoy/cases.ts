import { loadDomains } from '../../../packages/server/src/envoy/load.js';
import type { Domain, Entry } from '../../../packages/server/src/envoy/rules.js';
import all from '../../support/fixtures/rls-cases.json' with { type: 'json' };

type Numbers = Readonly<Record<string, number>>;

interface RlsDescriptor {
  readonly entries: readonly Entry[];
  readonly limit?: { readonly requests_per_unit: number; readonly unit: string };
}

/** One request of a case, or several of the same kind. */
export interface Step {
  /** Seconds since the epoch. */
  readonly now: number;
  readonly descriptors: readonly (RlsDescriptor & { readonly hits_addend?: number })[];
  readonly hits_addend?: number;
  readonly repeat?: number;
  readonly expect: {
    readonly overall_code: string;
    readonly statuses: readonly unknown[];
    readonly response_headers_to_add?: readonly string[];
  };
}

/** One case of envoyproxy/ratelimit's behaviour, as far as its parts are read here. */
export interface RlsCase {
  readonly name: string;
  readonly group: string;
  readonly quirk?: boolean;
  readonly options?: Readonly<Record<string, boolean>>;
  readonly config?: unknown;
  readonly configs?: readonly unknown[];
  readonly config_yaml?: string;
  readonly domain: string;
  readonly descriptors: readonly RlsDescriptor[];
  readonly steps?: readonly Step[];
  readonly expect: {
    readonly limits?: readonly (Readonly<Record<string, unknown> & { cache_key_at_1234?: string }> | null)[];
    readonly load_error_contains?: string;
    readonly error?: string;
    readonly stats?: Readonly<Record<string, Numbers>>;
  };
}

export const casesOf = (group: string): readonly RlsCase[] =>
  (all as unknown as readonly RlsCase[]).filter((rlsCase) => rlsCase.group === group);

export function filesOf({ config, configs, config_yaml: yaml }: RlsCase): { file: string; text: string }[] {
  const texts = yaml === undefined ? (configs ?? [config]).map((value) => JSON.stringify(value)) : [yaml];
  return texts.map((text, i) => ({ file: `config-${i}.yaml`, text }));
}

export function domainsOf(rlsCase: RlsCase): ReadonlyMap<string, Domain> {
  const mergesDomains = rlsCase.options?.merge_domain_config === true;
  const loaded = loadDomains(filesOf(rlsCase), { mode: 'compatible', mergesDomains });
  if ('problems' in loaded) throw new Error(JSON.stringify(loaded.problems));
  return loaded.domains;
}
