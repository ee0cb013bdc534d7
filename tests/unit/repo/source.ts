import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

export const root: string = fileURLToPath(new URL('../../..', import.meta.url));

/** A source file by its path from the root, with `/` between folders. */
export interface Source {
  readonly path: string;
  readonly text: string;
  readonly tree: ts.SourceFile;
}

/** A rule names what it dislikes in a file; an empty list is praise. */
export type Rule = (source: Source) => string[];

export function parse(path: string, text: string): Source {
  return { path, text, tree: ts.createSourceFile(path, text, ts.ScriptTarget.ES2022, true) };
}

/** All files below the folders whose names end so, without what is built or installed. */
export function filesIn(folders: readonly string[], endings: readonly string[]): string[] {
  return folders
    .flatMap((folder) => walk(join(root, folder)))
    .filter((path) => endings.some((end) => path.endsWith(end)));
}

function walk(folder: string): string[] {
  // Git keeps no empty folders.
  if (!existsSync(folder)) return [];
  const entries = readdirSync(folder, { withFileTypes: true }).filter(
    ({ name }) => !/^(node_modules|dist)$/.test(name),
  );
  return entries.flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? walk(path) : [relative(root, path).split(sep).join('/')];
  });
}

export function read(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

export const isGenerated = (path: string): boolean => path.endsWith('.gen.ts');
const isTest = (path: string): boolean => path.endsWith('.test.ts');

/** Sources of a package that people write, tests beside them left out. */
export function sourcesOf(name: 'comporta' | 'server'): Source[] {
  const paths = filesIn([`packages/${name}/src`], ['.ts']).filter((path) => !isGenerated(path) && !isTest(path));
  return paths.map((path) => parse(path, read(path)));
}

/** What the rule dislikes in all files, each with its place. */
export function offences(sources: readonly Source[], rule: Rule): string[] {
  return sources.flatMap((source) => rule(source).map((words) => `${source.path}: ${words}`));
}

/** Every node of the kind that `pick` narrows to. */
export function nodesOf<T extends ts.Node>(source: Source, pick: (node: ts.Node) => node is T): T[] {
  const found: T[] = [];
  const visit = (node: ts.Node): void => {
    if (pick(node)) found.push(node);
    ts.forEachChild(node, visit);
  };
  visit(source.tree);
  return found;
}

export function lineOf(source: Source, node: ts.Node): number {
  return source.tree.getLineAndCharacterOfPosition(node.getStart(source.tree)).line + 1;
}
