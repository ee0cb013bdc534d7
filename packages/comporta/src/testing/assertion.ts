import { isComportaError } from '../core/errors.js';

/** What a failed assertion throws: named and shaped as that of `node:assert`, so that runners show the difference. */
export class AssertionError extends Error {
  override readonly name: string = 'AssertionError';
  readonly code: string = 'ERR_ASSERTION';
  readonly actual: unknown;
  readonly expected: unknown;

  constructor(message: string, actual: unknown, expected: unknown) {
    super(message);
    this.actual = actual;
    this.expected = expected;
  }
}

/** Fails with `message` and both values, unless they are the same in all their parts. */
export function assertSame(actual: unknown, expected: unknown, message = 'not the same'): void {
  if (isSame(actual, expected)) return;
  throw new AssertionError(`${message}: expected ${text(expected)}, got ${text(actual)}`, actual, expected);
}

export function assertTrue(condition: boolean, message: string): void {
  if (!condition) throw new AssertionError(message, condition, true);
}

/** Fails unless the promise rejects with an error of this package that has this code. */
export async function assertRejects(promise: Promise<unknown>, code: string): Promise<void> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason ?? 'nothing',
  );
  const found = isComportaError(error) ? error.code : error;
  if (found !== code) throw new AssertionError(`expected ${code}, got ${String(found ?? 'no error')}`, found, code);
}

function isSame(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const [left, right] = [new Map(Object.entries(a)), new Map(Object.entries(b))];
  return left.size === right.size && [...left].every(([key, value]) => right.has(key) && isSame(value, right.get(key)));
}

const text = (value: unknown): string => JSON.stringify(value) ?? String(value);
