import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Problem } from '../config/problem.js';
import type { FileProblem } from './checker.js';
import { type DomainFile, type LoadedDomains, type LoadOptions, loadDomains } from './load.js';

const IS_CONFIG = /^[^.].*\.(ya?ml|json)$/;

/** Files behind names of files and folders, in the order of reading. Throws the system's error. */
function filesOf(names: readonly string[]): readonly string[] {
  return names.flatMap((name) => (statSync(name).isDirectory() ? filesIn(name) : [name]));
}

/** Those beginning with a dot belong to whoever put the folder there. */
const filesIn = (folder: string): readonly string[] =>
  readdirSync(folder)
    .filter((name) => IS_CONFIG.test(name))
    .sort()
    .map((name) => join(folder, name));

/** What files held at one moment. */
export type DomainContent = LoadedDomains & { readonly texts: string; readonly files: readonly string[] };

/** Reads and checks all files. One that cannot be read is a problem like any other. Never throws. */
export function readDomains(names: readonly string[], options: LoadOptions, known?: DomainContent): DomainContent {
  const read: DomainFile[] = [];
  let at = names[0] ?? '';
  try {
    for (const name of names) {
      at = name;
      const files = filesOf([name]);
      if (files.length === 0)
        return failed(name, 'the folder has no files of domains', 'their names end in .yaml, .yml or .json');
      for (const file of files) {
        at = file;
        read.push({ file, text: readFileSync(file, 'utf8') });
      }
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return failed(at, code === 'ENOENT' ? 'there is no such file' : `the file cannot be read: ${code ?? error}`);
  }
  const texts = JSON.stringify(read);
  if (texts === known?.texts) return known;
  return { ...loadDomains(read, options), texts, files: read.map(({ file }) => file) };
}

function failed(file: string, message: string, hint?: string): DomainContent {
  const problem: Problem = { line: 1, column: 1, path: '', message, hint };
  const problems: readonly FileProblem[] = [{ file, problem }];
  return { problems, texts: JSON.stringify(problems), files: [] };
}
