import { createHash } from 'node:crypto';

/** Name of a domain's policy: part of keys and metrics, which take few characters. */
export function nameOf(domain: string): string {
  if (/^[A-Za-z0-9_.-]{1,60}$/.test(domain)) return `rls.${domain}`;
  return `rls.${createHash('sha256').update(domain).digest('hex').slice(0, 32)}`;
}
