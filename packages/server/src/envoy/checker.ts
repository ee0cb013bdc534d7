import { nearest } from '../config/nearest.js';
import { formatPath, type Path, type Problem } from '../config/problem.js';
import { shown } from '../config/shown.js';
import type { Source } from '../config/source.js';

type Fields = Readonly<Record<string, unknown>>;

/** A problem in one of several files. */
export interface FileProblem {
  readonly file: string;
  readonly problem: Problem;
}

/** Reads fields of one file and notes what is wrong with them, with its place. */
export class Checker {
  readonly problems: FileProblem[] = [];
  readonly #file: string;
  readonly #source: Source;

  constructor(file: string, source: Source) {
    this.#file = file;
    this.#source = source;
    for (const problem of source.problems) this.problems.push({ file, problem });
  }

  report(path: Path, message: string, hint?: string, what: 'key' | 'value' = 'value'): void {
    const place = this.#source.locate(path, what);
    this.problems.push({ file: this.#file, problem: { ...place, path: formatPath(path), message, hint } });
  }

  /**
   * The fields of a map, of which there are only these; `undefined`, and noted, for anything else. `elsewhere` has
   * hints for names that are known under other settings.
   */
  fields(
    value: unknown,
    path: Path,
    known: readonly string[],
    elsewhere: Readonly<Record<string, string>> = {},
  ): Fields | undefined {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      const given = path.length === 0 ? '' : `, got ${shown(value)}`;
      this.report(path, `expected fields${given}`, `known here: ${known.join(', ')}`);
      return undefined;
    }
    for (const name of Object.keys(value).filter((key) => !known.includes(key))) {
      const other = Object.hasOwn(elsewhere, name) ? elsewhere[name] : undefined;
      const guess = nearest(name, known);
      const hint =
        other !== undefined
          ? other
          : guess === undefined
            ? `known here: ${known.join(', ')}`
            : `did you mean "${guess}"?`;
      this.report([...path, name], 'unknown field', hint, 'key');
    }
    return value as Fields;
  }

  list(value: unknown, path: Path): readonly unknown[] {
    if (value === undefined || value === null) return [];
    if (Array.isArray(value)) return value;
    this.report(path, `expected a list, got ${shown(value)}`, 'start each entry with "- "');
    return [];
  }

  /** Text; whole numbers and truth values are read as they are written. */
  text(value: unknown, path: Path): string {
    if (value === undefined || value === null) return '';
    if (typeof value === 'string') return value;
    if (typeof value === 'boolean' || Number.isSafeInteger(value)) return String(value);
    this.report(path, `expected text, got ${shown(value)}`, 'put it in quotes');
    return '';
  }

  flag(value: unknown, path: Path): boolean {
    if (value === undefined || value === null) return false;
    if (typeof value !== 'boolean') this.report(path, `expected true or false, got ${shown(value)}`);
    return value === true;
  }
}
