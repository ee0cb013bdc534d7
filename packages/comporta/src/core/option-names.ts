import { ComportaError } from './errors.js';

/** Throws `ERR_OPTION` naming an option that there is none of, so that a slip of the pen is not silently ignored. */
export function checkOptionNames(options: object, known: readonly string[]): void {
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new ComportaError('ERR_OPTION', `${unknown}: unknown option; there are ${known.join(', ')}`, unknown);
}
