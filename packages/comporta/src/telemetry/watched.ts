import { ComportaError, show } from '../core/errors.js';
import type { Limiter } from '../limiter/limiter.js';

/** A limiter, or a gate with the limiters of all its policies. */
export type Watched = Limiter | { readonly limiters: ReadonlyMap<string, Limiter> };

/** Throws `ERR_OPTION` for anything else. */
export function limitersOf(watched: Watched): readonly Limiter[] {
  if (typeof watched === 'object' && watched !== null) {
    if ('limiters' in watched && watched.limiters instanceof Map) return [...watched.limiters.values()];
    if ('on' in watched && typeof watched.on === 'function') return [watched];
  }
  throw new ComportaError('ERR_OPTION', `limiters: expected a limiter or a gate, got ${show(watched)}`, 'limiters');
}
