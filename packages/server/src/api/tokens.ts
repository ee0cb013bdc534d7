import { createHash, timingSafeEqual } from 'node:crypto';

/** Whether an `Authorization` header shows a token that is taken. */
export type IsKnown = (authorization: string | undefined) => boolean;

/** Compares digests, all of them, so that time tells nothing of a token, not even its length. */
export function knownBy(tokens: readonly string[]): IsKnown {
  const digests = tokens.map(digestOf);
  return (authorization) => {
    const given = digestOfBearer(authorization);
    return digests.map((known) => timingSafeEqual(known, given)).includes(true);
  };
}

/** Of the token in an `Authorization` header, of nothing where there is none. */
export const digestOfBearer = (authorization = ''): Buffer =>
  digestOf(/^Bearer +(\S+)$/i.exec(authorization)?.[1] ?? '');

export const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest();
