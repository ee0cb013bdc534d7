import { shownText } from './shown.js';

/** One thing that is wrong in a configuration file, at the place where a person can mend it. */
export interface Problem {
  /** Another file that the configuration names; the configuration itself when left out. */
  readonly file?: string;
  readonly line: number;
  readonly column: number;
  /** Where in the file's structure, such as `policies[0].limits[1].tokenBucket.every`. */
  readonly path: string;
  readonly message: string;
  /** What to do about it, when that is known. */
  readonly hint: string | undefined;
}

export type Path = readonly (string | number)[];

/** `['policies', 0, 'name']` as `policies[0].name`. */
export function formatPath(path: Path): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`;
    return text === '' ? part : `${text}.${part}`;
  }, '');
}

/** The reverse of {@link formatPath}, for the field names in the library's errors. */
export function parsePath(text: string): Path {
  return (text.match(/[^.[\]]+/g) ?? []).map((part) => (/^\d+$/.test(part) ? Number(part) : part));
}

/** Lists of known names are the longest. */
const WORDS_MAX = 1000;
const PATH_MAX = 300;

/** `file:line:column: path: message (hint)`, the form that editors and terminals make clickable. */
export function formatProblem(file: string, problem: Problem): string {
  const { line, column, path, message, hint } = problem;
  const where = `${problem.file ?? file}:${line}:${column}: ${path === '' ? '' : `${shownText(path, PATH_MAX)}: `}`;
  const what = shownText(message, WORDS_MAX);
  return `${where}${what}${hint === undefined ? '' : `\n  hint: ${shownText(hint, WORDS_MAX)}`}`;
}
