import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { filesIn, read, root } from './source.js';

interface Manifest {
  readonly name: string;
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly bin?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

const FOLDERS = ['packages/comporta', 'packages/server'];
const manifestOf = (folder: string): Manifest => JSON.parse(read(`${folder}/package.json`)) as Manifest;
const library = manifestOf('packages/comporta');

/** The source that a built file comes from: `./dist/a.d.ts` and `./dist/a.js` come from `src/a.ts`. */
const sourceOf = (built: string): string => built.replace('./dist/', 'src/').replace(/(\.d\.ts|\.js)$/, '.ts');

/** Faults of an export map, given the files that exist. */
function faultsOf({ exports }: Pick<Manifest, 'exports'>, exists: (source: string) => boolean): string[] {
  return Object.entries(exports).flatMap(([name, target]) => {
    if (name === './package.json') return target === name ? [] : [`${name} points elsewhere`];
    if (typeof target === 'string') return [`${name} has no types`];
    const { types = '', default: code = '' } = target;
    if (Object.keys(target)[0] !== 'types') return [`${name}: types must come first`];
    if (sourceOf(types) !== sourceOf(code)) return [`${name}: types and code differ`];
    return exists(sourceOf(code)) ? [] : [`${name}: no such file: ${sourceOf(code)}`];
  });
}

test.each(FOLDERS)('every export of %s has a source file, types first', (folder) => {
  expect(faultsOf(manifestOf(folder), (source) => existsSync(join(root, folder, source)))).toEqual([]);
  expect(manifestOf(folder).exports).toHaveProperty(['./package.json']);
});

test('every adapter is exported under its own name', () => {
  const files = filesIn(['packages/comporta/src/adapters'], ['.ts']).filter((path) => !path.endsWith('.test.ts'));
  const names = files.map((path) => `./${path.slice(path.lastIndexOf('/') + 1, -'.ts'.length)}`);
  expect(names.filter((name) => !(name in library.exports))).toEqual([]);
});

test('tsconfig.json maps every export to its source', () => {
  const { compilerOptions } = JSON.parse(read('tsconfig.json')) as { compilerOptions: { paths: object } };
  const doors = Object.entries(library.exports).filter(([, target]) => typeof target === 'object');
  const expected = doors.map(([name, target]) => {
    return [
      `comporta${name.slice(1)}`,
      [`./packages/comporta/${sourceOf((target as Record<string, string>).default ?? '')}`],
    ];
  });
  expect(compilerOptions.paths).toMatchObject(Object.fromEntries(expected));
});

test('the command has a source file that starts with a line for node', () => {
  const [main] = Object.values(manifestOf('packages/server').bin ?? {});
  expect(read(`packages/server/${sourceOf(main ?? '')}`)).toMatch(/^#!\/usr\/bin\/env node\n/);
});

test('the library depends on nothing, and every peer is optional', () => {
  expect(library.dependencies ?? {}).toEqual({});
  const peers = Object.keys(library.peerDependencies ?? {});
  expect(peers.filter((name) => library.peerDependenciesMeta?.[name]?.optional !== true)).toEqual([]);
});

test('faults of an export map are noticed', () => {
  const good = { './a': { types: './dist/a.d.ts', default: './dist/a.js' }, './package.json': './package.json' };
  expect(faultsOf({ exports: good }, () => true)).toEqual([]);
  expect(faultsOf({ exports: good }, () => false)).toHaveLength(1);
  expect(faultsOf({ exports: { './a': './dist/a.js' } }, () => true)).toHaveLength(1);
  expect(faultsOf({ exports: { './a': { default: './dist/a.js', types: './dist/a.d.ts' } } }, () => true)).toHaveLength(
    1,
  );
  expect(faultsOf({ exports: { './a': { types: './dist/b.d.ts', default: './dist/a.js' } } }, () => true)).toHaveLength(
    1,
  );
});
