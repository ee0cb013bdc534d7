import { type RenewableTls, resolveTls } from '../api/tls.js';
import type { Fault, ReadFile } from '../config/store.js';
import type { AdminConfig } from './schema.js';

/** The admin API as it runs: the text of files in place of their names. */
export interface AdminSettings extends Omit<AdminConfig, 'tls'> {
  readonly tls: RenewableTls | undefined;
}

/** Puts files in place of their names, and says which cannot be used. */
export function resolveAdmin(
  admin: AdminConfig | undefined,
  read: ReadFile,
): { readonly settings: AdminSettings | undefined; readonly faults: readonly Fault[] } {
  if (admin === undefined) return { settings: undefined, faults: [] };
  const { tls, faults } = resolveTls('admin', admin.tls, read);
  return { settings: { ...admin, tls }, faults };
}
