import ts from 'typescript';
import { expect, test } from 'vitest';
import { nodesOf, parse, read, type Source, sourcesOf } from './source.js';

const ERRORS = 'packages/comporta/src/core/errors.ts';

/** Members of the union `ErrorCode`. */
function codesOf(source: Source): string[] {
  const union = nodesOf(source, ts.isTypeAliasDeclaration).find(({ name }) => name.text === 'ErrorCode');
  const members = union !== undefined && ts.isUnionTypeNode(union.type) ? union.type.types : [];
  return members.flatMap((type) =>
    ts.isLiteralTypeNode(type) && ts.isStringLiteral(type.literal) ? type.literal.text : [],
  );
}

/** Headings of the page, in its order. */
const documented = (page: string): string[] => [...page.matchAll(/^## `?(ERR_\w+)`?$/gm)].map(([, code]) => code ?? '');

const textsIn = (sources: readonly Source[]): Set<string> =>
  new Set(sources.flatMap((source) => nodesOf(source, ts.isStringLiteral).map(({ text }) => text)));

const codes = codesOf(parse(ERRORS, read(ERRORS)));
const page = read('docs/errors.md');

test('the page explains every code, and no code that does not exist', () => {
  expect(codes.length).toBeGreaterThan(0);
  expect(documented(page).toSorted()).toEqual(codes.toSorted());
});

test('every section says what the code means, where it comes from and what to do', () => {
  for (const section of page.split(/^## /m).slice(1)) {
    expect(section).toMatch(/\*\*Meaning\.\*\*[\s\S]+\*\*Cause\.\*\*[\s\S]+\*\*Fix\.\*\*/);
  }
});

test('every code is thrown somewhere', () => {
  const used = textsIn(sourcesOf('comporta').filter(({ path }) => path !== ERRORS));
  expect(codes.filter((code) => !used.has(code))).toEqual([]);
});

test('the readers find codes, headings and texts', () => {
  expect(codesOf(parse('a.ts', `export type ErrorCode = 'ERR_A' | 'ERR_B'; type Other = 'ERR_C' | 'D';`))).toEqual([
    'ERR_A',
    'ERR_B',
  ]);
  expect(documented('# Errors\n\n## ERR_A\n\ntext ERR_X\n\n## `ERR_B`\n\n### ERR_C\n')).toEqual(['ERR_A', 'ERR_B']);
  expect(textsIn([parse('a.ts', `// 'ERR_A'\nthrow new E('ERR_B');`)])).toEqual(new Set(['ERR_B']));
});
