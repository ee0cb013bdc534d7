import type { Entry, Level, Node } from './rules.js';

/** Key and value as envoyproxy/ratelimit joins them. */
export const joined = (key: string, value: string): string => (value === '' ? key : `${key}_${value}`);

/** Whether a text fits a pattern in which each `*` stands for any text, also for none. */
export function fits(pattern: string, text: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  const last = rest.pop();
  if (last === undefined) return text === pattern;
  if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last)) return false;
  let at = first.length;
  const end = text.length - last.length;
  for (const part of rest) {
    const found = text.indexOf(part, at);
    if (found < 0 || found + part.length > end) return false;
    at = found + part.length;
  }
  return true;
}

const hasWildcard = (text: string): boolean => text.includes('*');

/**
 * Compatible with envoyproxy/ratelimit: key and value are looked up as one text, so that `a` with `b` finds a node
 * with the key `a_b`. The exact node wins, then the first wildcard in the file, then the key alone.
 */
export class JoinedLevel implements Level {
  readonly #exact: ReadonlyMap<string, Node>;
  readonly #wildcards: readonly Node[];
  /** Of labels: a joined text of another length finds nothing, and need not be made. */
  readonly #lengths: ReadonlySet<number>;

  constructor(nodes: readonly Node[]) {
    this.#exact = new Map(nodes.map((node) => [node.label, node]));
    this.#lengths = new Set(nodes.map(({ label }) => label.length));
    this.#wildcards = nodes.filter(({ label }) => hasWildcard(label));
  }

  find({ key, value }: Entry): Node | undefined {
    const length = key.length + 1 + value.length;
    if (this.#wildcards.length === 0 && !this.#lengths.has(length)) return this.#exact.get(key);
    const text = `${key}_${value}`;
    return this.#exact.get(text) ?? this.#wildcards.find(({ label }) => fits(label, text)) ?? this.#exact.get(key);
  }
}

/** The nodes of one key. */
interface OfKey {
  readonly exact: ReadonlyMap<string, Node>;
  readonly wildcards: readonly Node[];
  readonly any: Node | undefined;
}

/** Strict: a key finds only nodes of that very key. The order is the same: exact, wildcards in the file, any value. */
export class StrictLevel implements Level {
  readonly #keys: ReadonlyMap<string, OfKey>;

  constructor(nodes: readonly Node[]) {
    const keys = [...new Set(nodes.map(({ key }) => key))];
    this.#keys = new Map(keys.map((key) => [key, ofKey(nodes.filter((node) => node.key === key))]));
  }

  find({ key, value }: Entry): Node | undefined {
    const nodes = this.#keys.get(key);
    if (nodes === undefined) return undefined;
    const exact = value === '' ? undefined : nodes.exact.get(value);
    return exact ?? nodes.wildcards.find((node) => fits(node.value, value)) ?? nodes.any;
  }
}

function ofKey(nodes: readonly Node[]): OfKey {
  const literal = nodes.filter(({ value }) => !hasWildcard(value));
  return {
    exact: new Map(literal.map((node) => [node.value, node])),
    wildcards: nodes.filter(({ value }) => hasWildcard(value)),
    any: literal.find(({ value }) => value === ''),
  };
}
