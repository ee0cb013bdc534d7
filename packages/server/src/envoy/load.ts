import { readSource } from '../config/source.js';
import { Checker, type FileProblem } from './checker.js';
import { readNodes, type Setting } from './nodes.js';
import { type NamedRule, reportCircles } from './replaces.js';
import type { Domain } from './rules.js';

export interface DomainFile {
  /** Name to show. */
  readonly file: string;
  readonly text: string;
}

export interface LoadOptions {
  /** `compatible` reads and answers as envoyproxy/ratelimit does; `strict` knows more and refuses more. */
  readonly mode: 'compatible' | 'strict';
  /** Several files may describe one domain. */
  readonly mergesDomains?: boolean;
}

export type LoadedDomains =
  | { readonly domains: ReadonlyMap<string, Domain> }
  | { readonly problems: readonly FileProblem[] };

const FIELDS: readonly string[] = ['domain', 'descriptors'];

/** Domains of files as envoyproxy/ratelimit has them: all of them, or everything that is wrong. Never throws. */
export function loadDomains(files: readonly DomainFile[], { mode, mergesDomains = false }: LoadOptions): LoadedDomains {
  const checkers: Checker[] = [];
  const parts = new Map<string, Part[]>();
  for (const file of files) {
    // Dollar signs are text here: these files come from elsewhere and stay as they are.
    const source = readSource(file.text, undefined, { merge: true });
    const checker = new Checker(file.file, source);
    checkers.push(checker);
    if (source.problems.length > 0) continue;
    const { name, settings } = readFile(source.value, checker, mode === 'strict');
    const others = parts.get(name) ?? [];
    if (others.length > 0 && !mergesDomains) {
      const hint = `${others[0]?.file.file} has it already; give it another name, or merge domains`;
      checker.report(['domain'], `the domain ${JSON.stringify(name)} is described twice`, hint);
    }
    parts.set(name, [...others, { file, settings }]);
  }
  const domains = new Map([...parts].map(([name, ofDomain]) => [name, build(name, ofDomain, mode)]));
  const problems = checkers.flatMap((checker) => checker.problems);
  return problems.length > 0 ? { problems } : { domains };
}

/** What one file says of a domain. */
interface Part {
  readonly file: DomainFile;
  readonly settings: readonly Omit<Setting, 'named' | 'statsKey'>[];
}

function readFile(value: unknown, checker: Checker, isStrict: boolean): { name: string; settings: Part['settings'] } {
  const fields = checker.fields(value, [], FIELDS);
  const name = checker.text(fields?.domain, ['domain']);
  if (fields !== undefined && name === '') checker.report(['domain'], 'missing', 'the name that Envoy asks for');
  const descriptors = checker.list(fields?.descriptors, ['descriptors']);
  return {
    name,
    settings: descriptors.map((setting, i) => ({ setting, path: ['descriptors', i], checker, isStrict })),
  };
}

/** Files of one domain make one level: what they say twice is refused, wherever it is said. */
function build(name: string, parts: readonly Part[], mode: LoadOptions['mode']): Domain {
  const named: NamedRule[] = [];
  const settings = parts.flatMap((part) => part.settings.map((setting) => ({ ...setting, named, statsKey: name })));
  const root = readNodes(settings, mode);
  if (mode === 'strict') reportCircles(named);
  return { name, root };
}
