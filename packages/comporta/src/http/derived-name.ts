import { sha1Hex } from '../core/hash.js';

const NAME_MAX = 64;
const HASH_LENGTH = 8;

/** What limits are written beside, as a name can be made of it. */
export interface NameParts {
  readonly readable: string;
  /** Tells it apart from all others that are as readable. */
  readonly identity: string;
  /** Whether `readable` does that too. */
  readonly isDistinct: boolean;
}

/**
 * The name of a policy that was written beside a route or a handler, in the name of what it belongs to: readable,
 * with a hash where two could get one name or it would be too long.
 */
export function derivedName(prefix: string, { readable, identity, isDistinct }: NameParts): string {
  const text = `${prefix}.${readable}`;
  if (isDistinct && text.length <= NAME_MAX) return text;
  return `${text.slice(0, NAME_MAX - HASH_LENGTH - 1)}-${sha1Hex(`${prefix}\n${identity}`).slice(0, HASH_LENGTH)}`;
}
