import { type Alias, type Document, isAlias, isCollection, isPair, isScalar, Lexer, type Node } from 'yaml';

/** Values of a file, each as often as aliases repeat it; keys are not counted. */
const VALUES_MAX = 200_000;
/** Lists and fields in one another. */
const DEPTH_MAX = 100;
/** Aliases and anchors: each alias is looked up among all of them. */
const NAMES_MAX = 20_000;

/** What a text has before it is read; generous, for values and depth are counted well afterwards. */
const TOKENS_MAX = 2 * VALUES_MAX;
const COLUMNS_MAX = 3 * DEPTH_MAX;

/** A file that is larger than a person writes, and where that shows. */
export interface Excess {
  readonly offset: number;
  readonly message: string;
  readonly hint: string;
}

const TOO_MANY = { message: `more than ${VALUES_MAX} values`, hint: 'split the file, or repeat fewer aliases' };
const TOO_DEEP = { message: `nested deeper than ${DEPTH_MAX} levels`, hint: 'lists and fields need far fewer levels' };
const TOO_NAMED = { message: `more than ${NAMES_MAX} anchors and aliases`, hint: 'write the values out' };
const CIRCULAR = { message: 'an alias inside of what it stands for', hint: 'write the value out' };

const SCALAR = '\x1f';
const SPACE = ' \t\r\n#\ufeff';

/** Looks at the signs of a text alone: a parser takes a stack frame for each level, and much memory for each value. */
export function excessOfText(text: string): Excess | undefined {
  const columns: number[] = [];
  let [offset, lineStart, flows, tokens, isScalarNext] = [0, 0, 0, 0, false];
  for (const token of new Lexer().lex(text)) {
    if (!isScalarNext && token.length === 1 && '\x02\x18\x1f'.includes(token)) {
      isScalarNext = token === SCALAR;
      continue;
    }
    if (isScalarNext || !SPACE.includes(token.charAt(0))) {
      tokens++;
      if (flows === 0) {
        const column = offset - lineStart;
        while ((columns.at(-1) ?? -1) >= column) columns.pop();
        columns.push(column);
      }
      if (!isScalarNext && (token === '[' || token === '{')) flows++;
      else if (!isScalarNext && (token === ']' || token === '}')) flows = Math.max(0, flows - 1);
      if (tokens > TOKENS_MAX) return { offset, ...TOO_MANY };
      if (flows + columns.length > COLUMNS_MAX) return { offset, ...TOO_DEEP };
    }
    isScalarNext = false;
    const lineEnd = token.lastIndexOf('\n');
    if (lineEnd >= 0) lineStart = offset + lineEnd + 1;
    offset += token.length;
  }
  return undefined;
}

/** How much a part of a document is with its aliases written out. */
interface Extent {
  readonly values: number;
  readonly height: number;
}

interface Anchored {
  readonly node: Node;
  /** `undefined` while it is being looked at. */
  readonly extent: Extent | undefined;
}

const ONE: Extent = { values: 1, height: 0 };

/** Goes once through a document: what its aliases stand for, or why it is not built. */
export function targetsOf(document: Document): { readonly targets: ReadonlyMap<Alias, Node> } | Excess {
  const survey = new Survey();
  if (document.contents !== null) survey.look(document.contents);
  return survey.excess ?? { targets: survey.targets };
}

class Survey {
  readonly targets: Map<Alias, Node> = new Map();
  excess: Excess | undefined;
  readonly #anchors: Map<string, Anchored> = new Map();
  #names = 0;

  look(node: unknown): Extent {
    if (isAlias(node)) return this.#follow(node);
    if (!isScalar(node) && !isCollection(node)) return ONE;
    const { anchor } = node;
    if (anchor !== undefined) {
      this.#named(node);
      this.#anchors.set(anchor, { node, extent: undefined });
    }
    const extent = isScalar(node) ? ONE : this.#inside(node.items);
    if (anchor !== undefined) this.#anchors.set(anchor, { node, extent });
    return extent;
  }

  #inside(items: readonly unknown[]): Extent {
    let [values, height] = [1, 0];
    const add = (child: unknown, isCounted: boolean): void => {
      const extent = this.look(child);
      if (isCounted) values += extent.values;
      height = Math.max(height, extent.height + 1);
      if (values > VALUES_MAX) this.#refuse(child, TOO_MANY);
      if (height > DEPTH_MAX) this.#refuse(child, TOO_DEEP);
    };
    for (const item of items) {
      if (this.excess !== undefined) break;
      if (!isPair(item)) add(item, true);
      else {
        add(item.key, !isScalar(item.key));
        add(item.value, true);
      }
    }
    return { values, height };
  }

  #follow(alias: Alias): Extent {
    this.#named(alias);
    const anchored = this.#anchors.get(alias.source);
    if (anchored === undefined) return ONE;
    if (anchored.extent === undefined) this.#refuse(alias, CIRCULAR);
    this.targets.set(alias, anchored.node);
    return anchored.extent ?? ONE;
  }

  #named(node: Node): void {
    if (++this.#names > NAMES_MAX) this.#refuse(node, TOO_NAMED);
  }

  #refuse(node: unknown, why: Omit<Excess, 'offset'>): void {
    this.excess ??= { offset: (node as Node | null)?.range?.[0] ?? 0, ...why };
  }
}
