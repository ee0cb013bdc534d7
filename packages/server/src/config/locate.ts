import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  visit,
  type YAMLMap,
} from 'yaml';
import type { Path } from './problem.js';

type Pairs = ReadonlyMap<string, Pair>;

/** Finds where a value, or its key, was written. Each map of the document is read through once at most. */
export class Locator {
  readonly #document: Document;
  readonly #targets: ReadonlyMap<Alias, Node>;
  readonly #pairs: WeakMap<YAMLMap, Pairs> = new WeakMap();

  /** `targets` is what the aliases of the document stand for. */
  constructor(document: Document, targets: ReadonlyMap<Alias, Node>) {
    this.#document = document;
    this.#targets = targets;
  }

  /** Offset in the text; of the closest parent when the path does not exist. */
  offsetOf(path: Path, what: 'key' | 'value'): number {
    let node: unknown = this.#document.contents;
    let offset = (node as Node | null)?.range?.[0] ?? 0;
    for (const part of path) {
      if (isAlias(node)) node = this.#targets.get(node);
      if (isMap(node)) {
        const pair = this.#pairsOf(node).get(String(part));
        if (pair === undefined) return offset;
        offset = (pair.key as Node).range?.[0] ?? offset;
        node = pair.value;
      } else if (isSeq(node)) {
        node = node.items[Number(part)];
        if (node === undefined) return offset;
        offset = (node as Node).range?.[0] ?? offset;
      }
    }
    return what === 'value' && isScalar(node) && node.value !== null ? (node.range?.[0] ?? offset) : offset;
  }

  #pairsOf(map: YAMLMap): Pairs {
    let pairs = this.#pairs.get(map);
    if (pairs === undefined) {
      pairs = new Map(map.items.flatMap((pair) => (isScalar(pair.key) ? [[String(pair.key.value), pair]] : [])));
      this.#pairs.set(map, pairs);
    }
    return pairs;
  }
}

/** Offsets of keys that their map has already. The parser's own check takes minutes for a large map. */
export function repeatedKeys(document: Document): readonly number[] {
  const offsets: number[] = [];
  visit(document, {
    Map(_, map) {
      const seen = new Set<unknown>();
      for (const { key } of map.items) {
        if (!isScalar(key)) continue;
        if (seen.has(key.value)) offsets.push(key.range?.[0] ?? 0);
        seen.add(key.value);
      }
    },
  });
  return offsets;
}

export function firstAlias(document: Document): number {
  let offset = 0;
  visit(document, {
    Alias(_, node) {
      offset = node.range?.[0] ?? 0;
      return visit.BREAK;
    },
  });
  return offset;
}
