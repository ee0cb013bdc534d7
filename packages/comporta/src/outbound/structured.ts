/** A member of a structured-field list (RFC 9651) with its parameters; the last of a name counts. */
export interface Item {
  readonly value: string | number | boolean;
  readonly parameters: ReadonlyMap<string, string | number | boolean>;
}

const NUMBER = /-?(?:\d{1,12}\.\d{1,3}|\d{1,15})(?![\d.])/y;
const STRING = /"((?:[ !#-[\]-~]|\\["\\])*)"/y;
const TOKEN = /[A-Za-z*][\w:/!#$%&'*+.^`|~-]*/y;
const BYTES = /:((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?):/y;
const FLAG = /\?([01])/y;
const PARAMETER = /; *([a-z*][a-z0-9_.*-]*)(=)?/y;
const SEPARATOR = /[ \t]*,[ \t]*/y;

/** Reads a list without inner lists. One fault anywhere voids the whole field, as the RFC says: `undefined`. */
export function parseList(text: string): readonly Item[] | undefined {
  const reader = new Reader(text.replace(/^ +|[ \t]+$/g, ''));
  const items: Item[] = [];
  do {
    const item = reader.item();
    if (item === undefined) return undefined;
    items.push(item);
  } while (reader.match(SEPARATOR) !== undefined);
  return reader.isAtEnd ? items : undefined;
}

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#text.length;
  }

  match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text) ?? undefined;
    this.#at += found?.[0].length ?? 0;
    return found;
  }

  item(): Item | undefined {
    const value = this.#bareItem();
    if (value === undefined) return undefined;
    const parameters = new Map<string, string | number | boolean>();
    for (let found = this.match(PARAMETER); found !== undefined; found = this.match(PARAMETER)) {
      const given = found[2] === undefined ? true : this.#bareItem();
      if (given === undefined) return undefined;
      parameters.set(found[1] as string, given);
    }
    return { value, parameters };
  }

  #bareItem(): string | number | boolean | undefined {
    const number = this.match(NUMBER);
    if (number !== undefined) return Number(number[0]);
    const text = this.match(STRING);
    if (text !== undefined) return (text[1] as string).replace(/\\(.)/g, '$1');
    const flag = this.match(FLAG);
    if (flag !== undefined) return flag[1] === '1';
    return this.match(BYTES)?.[1] ?? this.match(TOKEN)?.[0];
  }
}
