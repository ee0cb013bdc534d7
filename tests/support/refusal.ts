import { isComportaError } from 'comporta';

/** What a call threw, as its code and field; fails when it threw nothing or something else. */
export function refusalOf(run: () => unknown): {
  readonly code: string;
  readonly field: string;
  readonly text: string;
} {
  try {
    run();
  } catch (error) {
    if (isComportaError(error)) return { code: error.code, field: error.field, text: error.message };
    throw error;
  }
  throw new Error('nothing was thrown');
}
