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

/** Of a name that was sent, in a message. */
export const SHOWN_MAX = 64;

export type Fields = Readonly<Record<string, unknown>>;

function refuse(field: string, expected: string, given: unknown): never {
  throw new BadInput(field, `${field}: expected ${expected}, got ${show(given)}`);
}

export function readFields(value: unknown, field: string): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return refuse(field, 'an object', value);
  return value as Fields;
}

/** A name that nobody reads is a mistake, or a wish that would not be met. */
export function refuseOthers(fields: Fields, field: string, known: readonly string[]): void {
  const other = Object.keys(fields).find((name) => !known.includes(name));
  if (other === undefined) return;
  const at = [field, other.slice(0, SHOWN_MAX)].filter((part) => part !== '').join('.');
  throw new BadInput(at, `${at}: unknown field; there are ${known.join(', ')}`);
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

/** Whether a text of JSON has brackets in brackets beyond `most`: readers of such texts may run out of stack. */
export function isDeep(text: string, most: number): boolean {
  let [depth, isQuoted] = [0, false];
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) isQuoted = !isQuoted;
    else if (isQuoted) i += code === BACKSLASH ? 1 : 0;
    else if (OPENING.has(code)) {
      if (++depth > most) return true;
    } else if (CLOSING.has(code)) depth--;
  }
  return false;
}

const [QUOTE, BACKSLASH] = [0x22, 0x5c];
const OPENING: ReadonlySet<number> = new Set([0x5b, 0x7b]);
const CLOSING: ReadonlySet<number> = new Set([0x5d, 0x7d]);
