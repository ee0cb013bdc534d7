import { isComportaError, show } from '../core/errors.js';

/** What was sent cannot be meant. */
export class BadInput extends Error {
  /** Path of the offending field, such as `operations[0].cost`; empty for the whole. */
  readonly field: string;

  constructor(field: string, message: string) {
    super(message);
    this.field = field;
  }
}

export type Fields = Readonly<Record<string, unknown>>;

function refuse(field: string, expected: string, given: unknown): never {
  throw new BadInput(field, `${field}: expected ${expected}, got ${show(given)}`);
}

export function readFields(value: unknown, field: string): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return refuse(field, 'an object', value);
  return value as Fields;
}

export function readList(value: unknown, field: string, most: number): readonly unknown[] {
  if (Array.isArray(value) && value.length <= most) return value;
  const given = Array.isArray(value) ? `${value.length}` : show(value);
  throw new BadInput(field, `${field}: expected a list of at most ${most}, got ${given}`);
}

/** A whole number from `least` to `most`. */
export function readWhole(
  value: unknown,
  field: string,
  least: number,
  most: number = Number.MAX_SAFE_INTEGER,
): number {
  if (Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most) return value as number;
  return refuse(field, `a whole number from ${least} to ${most}`, value);
}

export function readText(value: unknown, field: string, most: number): string {
  if (typeof value === 'string' && value.length <= most) return value;
  return refuse(field, `a text of at most ${most} characters`, value);
}

export function readFlag(value: unknown, field: string): boolean {
  return typeof value === 'boolean' ? value : refuse(field, 'true or false', value);
}

export function readChoice<Choice extends string>(value: unknown, field: string, choices: readonly Choice[]): Choice {
  const found = choices.find((choice) => choice === value);
  return found ?? refuse(field, `one of ${choices.join(', ')}`, value);
}

/** What `read` makes of a field that may be left out. */
export function optional<T>(value: unknown, read: (value: unknown) => T): T | undefined {
  return value === undefined ? undefined : read(value);
}

/** What the public builders refuse is bad input, under the field's path here. */
export function translated<T>(field: string, build: () => T): T {
  try {
    return build();
  } catch (error) {
    if (!isComportaError(error)) throw error;
    throw new BadInput(error.field.startsWith(field) ? error.field : `${field}.${error.field}`, error.message);
  }
}
