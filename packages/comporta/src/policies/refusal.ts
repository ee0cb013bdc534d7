import { ComportaError } from '../core/errors.js';

/** The error of a policy that cannot be meant, with the path of the offending field. */
export function refusal(field: string, message: string): ComportaError {
  return new ComportaError('ERR_POLICY', `${field}: ${message}`, field);
}
