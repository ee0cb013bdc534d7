import { type Document, LineCounter, parseDocument, Scalar, visit, type YAMLParseError } from 'yaml';
import { type Excess, excessOfText, targetsOf } from './bounds.js';
import { type Environment, expand, plainValue } from './environment.js';
import { firstAlias, Locator, repeatedKeys } from './locate.js';
import type { Path, Problem } from './problem.js';

/** Larger files are refused before they are read as YAML. */
const TEXT_MAX_CHARS = 1_000_000;

/** A file as plain values that still know where they were written. */
export interface Source {
  readonly value: unknown;
  /** Faults of the text itself; when there are any, `value` is `undefined`. */
  readonly problems: readonly Problem[];
  /** Place of a value, or of its key; of the closest parent when the path does not exist. */
  locate(path: Path, what: 'key' | 'value'): Place;
}

export interface Place {
  readonly line: number;
  readonly column: number;
}

export interface SourceOptions {
  /** Takes merge keys (`<<: *name`), which YAML had before 1.2. */
  readonly merge?: boolean;
}

/** Reads YAML or JSON and fills in environment variables, where an environment is given. Never throws. */
export function readSource(
  text: string,
  environment: Environment | undefined,
  { merge = false }: SourceOptions = {},
): Source {
  if (text.length > TEXT_MAX_CHARS) {
    return failed([
      { line: 1, column: 1, path: '', message: `longer than ${TEXT_MAX_CHARS} characters`, hint: undefined },
    ]);
  }
  const lines = new LineCounter();
  const place = (offset: number): Place => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const refused = ({ offset, message, hint }: Excess): Source =>
    failed([{ ...place(offset), path: '', message, hint }]);
  const excess = excessOfText(text);
  if (excess !== undefined) {
    for (let at = 0; at >= 0 && at <= excess.offset; at = text.indexOf('\n', at) + 1 || -1) lines.addNewLine(at);
    return refused(excess);
  }
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: false, merge });
  const faults: Problem[] = readable(document.errors).map(({ code, message, pos }) => ({
    ...place(pos[0]),
    path: '',
    ...explain(code, message, text.includes('${')),
  }));
  if (document.errors.every(({ code }) => CLEAR.has(code)))
    faults.push(...repeatedKeys(document).map((offset) => ({ ...place(offset), path: '', ...REPEATED })));
  if (faults.length === 0 && environment !== undefined) faults.push(...expandAll(document, environment, place));
  if (faults.length > 0) return failed(faults);
  const found = targetsOf(document);
  if ('message' in found) return refused(found);
  try {
    // What aliases repeat was counted.
    const value: unknown = document.toJS({ maxAliasCount: -1 });
    const locator = new Locator(document, found.targets);
    return { value, problems: [], locate: (path, what) => place(locator.offsetOf(path, what)) };
  } catch (error) {
    return failed([{ ...place(firstAlias(document)), path: '', ...explainAlias(error) }]);
  }
}

function failed(problems: readonly Problem[]): Source {
  return { value: undefined, problems, locate: () => ({ line: 1, column: 1 }) };
}

/** After a fault of syntax the parser is lost, and what it says next only misleads. */
function readable(errors: readonly YAMLParseError[]): readonly YAMLParseError[] {
  const first = errors.findIndex(({ code }) => !CLEAR.has(code));
  return first < 0 ? errors : errors.slice(0, first + 1);
}

const CLEAR: ReadonlySet<string> = new Set(['TAB_AS_INDENT', 'MULTIPLE_DOCS']);

interface Explanation {
  readonly message: string;
  readonly hint: string | undefined;
}

const REPEATED: Explanation = { message: 'this key is given twice', hint: 'keep one of them' };

function explain(code: string, message: string, hasVariables: boolean): Explanation {
  if (code === 'TAB_AS_INDENT') return { message: 'indented with a tab', hint: 'YAML indents with spaces only' };
  if (code === 'MULTIPLE_DOCS')
    return { message: 'a second document starts here', hint: 'one file holds one configuration' };
  const hint = hasVariables ? `inside { } and [ ] a variable needs quotes: "$\{NAME}"` : undefined;
  return { message: withoutSource(message), hint };
}

/** The parser's words without the piece of the text that they end with: it may be a secret, and the place is told. */
const withoutSource = (message: string): string => message.split(/\n|: /)[0] ?? message;

function explainAlias(error: unknown): Explanation {
  const message = error instanceof Error ? error.message : String(error);
  if (message.startsWith('Merge'))
    return {
      message: 'only fields can be merged',
      hint: 'after << comes an alias of fields, or a list of such aliases',
    };
  return { message: withoutSource(message), hint: 'an alias (*name) needs its anchor (&name) before it' };
}

function expandAll(document: Document, environment: Environment, place: (offset: number) => Place): Problem[] {
  const problems: Problem[] = [];
  visit(document, {
    Scalar(key, node) {
      if (key === 'key' || typeof node.value !== 'string' || !node.value.includes('$')) return;
      const expanded = expand(node.value, environment);
      if ('fault' in expanded) {
        problems.push({ ...place(node.range?.[0] ?? 0), path: '', message: expanded.fault, hint: expanded.hint });
      } else {
        node.value = node.type === Scalar.PLAIN ? plainValue(expanded.text) : expanded.text;
      }
    },
  });
  return problems;
}
