/** Stable codes of every error that this package throws; `docs/errors.md` explains each. */
export type ErrorCode =
  | 'ERR_COST'
  | 'ERR_DURATION'
  | 'ERR_OPTION'
  | 'ERR_LIMIT'
  | 'ERR_POLICY'
  | 'ERR_SUBJECT'
  | 'ERR_REFUND'
  | 'ERR_RESERVATION'
  | 'ERR_PLAN'
  | 'ERR_CLOSED'
  | 'ERR_CLIENT'
  | 'ERR_STORE'
  | 'ERR_PROXIES'
  | 'ERR_KEY';

const BRAND: symbol = Symbol.for('comporta.error');

/** Misuse or a start-up fault. Denials and store failures are values, never errors of this class. */
export class ComportaError extends Error {
  override readonly name: string = 'ComportaError';
  readonly code: ErrorCode;
  /** Path of the offending setting, such as `limits[0].every`; empty when there is none. */
  readonly field: string;

  constructor(code: ErrorCode, message: string, field = '') {
    super(message);
    this.code = code;
    this.field = field;
    Object.defineProperty(this, BRAND, { value: true });
  }
}

/** True for errors of this package, also when two copies of it are installed. */
export function isComportaError(error: unknown): error is ComportaError {
  return typeof error === 'object' && error !== null && BRAND in error;
}

/** A short, one-line picture of any value for an error message. */
export function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 60 ? `${value.slice(0, 57)}...` : value);
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'a list' : 'an object';
  return String(value);
}
