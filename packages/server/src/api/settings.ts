import type { Fault, ReadFile } from '../config/store.js';
import type { ApiConfig } from '../config/types.js';
import { type RenewableTls, resolveTls } from './tls.js';

/** The API as it runs: the text of files in place of their names. */
export interface ApiSettings extends Omit<ApiConfig, 'tls'> {
  readonly tls: RenewableTls | undefined;
}

/** Puts files in place of their names, and says which cannot be used. */
export function resolveApi(
  api: ApiConfig | undefined,
  read: ReadFile,
): { readonly settings: ApiSettings | undefined; readonly faults: readonly Fault[] } {
  if (api === undefined) return { settings: undefined, faults: [] };
  const { tls, faults } = resolveTls('api', api.tls, read);
  return { settings: { ...api, tls }, faults };
}
