import { type Fault, type ReadFile, readTlsFiles, type TlsTexts } from '../config/store.js';
import type { ApiConfig } from '../config/types.js';

/** The API as it runs: the text of files in place of their names. */
export interface ApiSettings extends Omit<ApiConfig, 'tls'> {
  readonly tls: ApiTls | undefined;
}

/** A certificate that may be renewed while it is in use. */
export interface ApiTls extends TlsTexts {
  /** Reads the files again; throws when they cannot be used. */
  reread(): TlsTexts;
}

/** Puts files in place of their names, and says which cannot be used. */
export function resolveApi(
  api: ApiConfig | undefined,
  read: ReadFile,
): { readonly settings: ApiSettings | undefined; readonly faults: readonly Fault[] } {
  if (api === undefined) return { settings: undefined, faults: [] };
  const { tls: files, ...rest } = api;
  if (files === undefined) return { settings: { ...rest, tls: undefined }, faults: [] };
  const faults: Fault[] = [];
  const texts = readTlsFiles('api', files, read, faults);
  const reread = (): TlsTexts => {
    const later: Fault[] = [];
    const found = readTlsFiles('api', files, read, later);
    const [fault] = later;
    if (fault !== undefined) throw new Error(`${fault.path.join('.')}: ${fault.message}`);
    return found;
  };
  return { settings: { ...rest, tls: { ...texts, reread } }, faults };
}
