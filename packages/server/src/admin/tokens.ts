import { timingSafeEqual } from 'node:crypto';
import { digestOf, digestOfBearer } from '../api/tokens.js';
import type { AdminToken } from './schema.js';

/** Who calls. */
export type Holder = Omit<AdminToken, 'token'>;

/** The holder of the token in an `Authorization` header. */
export type HolderOf = (authorization: string | undefined) => Holder | undefined;

/** Compares digests, all of them, so that time tells nothing of a token, not even its length. */
export function holdersBy(tokens: readonly AdminToken[]): HolderOf {
  const known = tokens.map(({ token, ...holder }) => ({ digest: digestOf(token), holder }));
  return (authorization) => {
    const given = digestOfBearer(authorization);
    return known.filter(({ digest }) => timingSafeEqual(digest, given))[0]?.holder;
  };
}
