import ts from 'typescript';
import { expect, test } from 'vitest';
import {
  filesIn,
  isGenerated,
  lineOf,
  nodesOf,
  offences,
  parse,
  type Rule,
  read,
  type Source,
  sourcesOf,
} from './source.js';

const LINE_WIDTH = 120;
const FUNCTION_LINES = 60;
const FILE_LINES = 250;
const ADAPTER_LINES = 80;

const src = [...sourcesOf('comporta'), ...sourcesOf('server')];
const folders = ['packages/comporta/src', 'packages/server/src', 'tests', 'scripts', 'bench', 'examples'];
const handWritten = (endings: readonly string[]): Source[] => {
  const paths = filesIn(folders, endings).filter((path) => !isGenerated(path));
  return paths.map((path) => parse(path, read(path)));
};
const code = handWritten(['.ts', '.mjs', '.lua']);
const tests = handWritten(['.test.ts']);

const lines = (text: string): string[] => text.split('\n');

/** Built from parts, so that this file does not find itself. */
const NOTES = new RegExp(`\\b(${['TO' + 'DO', 'FIX' + 'ME', 'HA' + 'CK', 'X' + 'XX'].join('|')})\\b`);

const notes: Rule = ({ text }) =>
  lines(text).flatMap((line, i) => (NOTES.test(line) ? [`line ${i + 1}: a note for later: ${line.trim()}`] : []));

/** A text alone on its line may be longer: the formatter cannot break it. */
const ONLY_TEXT = /^\s*(['"`]).*\1[,;)]*$/;

const width: Rule = ({ text }) =>
  lines(text).flatMap((line, i) =>
    line.length > LINE_WIDTH && !ONLY_TEXT.test(line) ? [`line ${i + 1} has ${line.length} columns`] : [],
  );

const anyType: Rule = (source) => {
  const isAny = (node: ts.Node): node is ts.KeywordTypeNode => node.kind === ts.SyntaxKind.AnyKeyword;
  return nodesOf(source, isAny).map((node) => `line ${lineOf(source, node)}: any`);
};

const nonNull: Rule = (source) =>
  nodesOf(source, ts.isNonNullExpression).map((node) => `line ${lineOf(source, node)}: ${node.getText()}`);

const suppressed: Rule = ({ text }) =>
  lines(text).flatMap((line, i) => (/@ts-(ignore|nocheck)/.test(line) ? [`line ${i + 1}: types are silenced`] : []));

const LEFT_OUT = new Set(['skip', 'only', 'todo', 'fails']);
const RUNNERS = new Set(['test', 'it', 'describe', 'suite', 'bench']);

const leftOut: Rule = (source) =>
  nodesOf(source, ts.isPropertyAccessExpression)
    .filter(({ name, expression }) => LEFT_OUT.has(name.text) && RUNNERS.has(expression.getText().split('.')[0] ?? ''))
    .map((node) => `line ${lineOf(source, node)}: ${node.getText()}`);

const functionLength: Rule = (source) =>
  nodesOf(source, isFunction).flatMap((node) => {
    const height = lines(node.getText()).length;
    return height > FUNCTION_LINES ? [`line ${lineOf(source, node)}: a function of ${height} lines`] : [];
  });

function isFunction(node: ts.Node): node is ts.FunctionLikeDeclaration {
  return ts.isFunctionLike(node) && 'body' in node && node.body !== undefined;
}

const fileLength: Rule = ({ path, text }) => {
  const allowed = path.includes('/adapters/') ? ADAPTER_LINES : FILE_LINES;
  const height = lines(text.trimEnd()).length;
  return height > allowed ? [`${height} lines, ${allowed} are allowed`] : [];
};

test('nothing is left for later', () => {
  expect(code.length).toBeGreaterThan(src.length);
  expect(offences(code, notes)).toEqual([]);
});

test(`lines have at most ${LINE_WIDTH} columns`, () => {
  expect(offences(code, width)).toEqual([]);
});

test('no source uses any, asserts that a value is there, or silences the types', () => {
  expect([anyType, nonNull, suppressed].flatMap((rule) => offences(src, rule))).toEqual([]);
});

test('no test is left out, run alone or expected to fail', () => {
  expect(offences(tests, leftOut)).toEqual([]);
});

test(`functions have at most ${FUNCTION_LINES} lines`, () => {
  expect(offences(src, functionLength)).toEqual([]);
});

test(`files have at most ${FILE_LINES} lines, adapters ${ADAPTER_LINES}`, () => {
  expect(offences(src, fileLength)).toEqual([]);
});

const repeat = (line: string, count: number): string => `${line}\n`.repeat(count);

test.each<[string, Rule, string, string]>([
  ['a note for later', notes, 'a.ts', `// ${'TO' + 'DO'}: later`],
  ['a long line', width, 'a.ts', `const a = '${'x'.repeat(120)}';`],
  ['any', anyType, 'a.ts', 'const a = b as any;'],
  ['any inside a type', anyType, 'a.ts', 'type A = Record<string, any[]>;'],
  ['an assertion', nonNull, 'a.ts', 'const a = b!.c;'],
  ['silenced types', suppressed, 'a.ts', '// @ts-' + 'ignore'],
  ['a skipped test', leftOut, 'a.test.ts', `test.skip('a', () => {});`],
  ['a test run alone', leftOut, 'a.test.ts', `describe.each([1]).only('a', () => {});`],
  ['a long function', functionLength, 'a.ts', `function a() {\n${repeat('b();', 60)}}`],
  ['a long method', functionLength, 'a.ts', `class A { a = () => {\n${repeat('b();', 60)}}; }`],
  ['a long file', fileLength, 'a.ts', repeat('b();', 251)],
  ['a long adapter', fileLength, 'packages/comporta/src/adapters/a.ts', repeat('b();', 81)],
])('the rules notice %s', (_, rule, path, text) => {
  expect(rule(parse(path, text))).not.toEqual([]);
});

test.each<[string, Rule, string, string]>([
  ['a long text alone on its line', width, 'a.ts', `f(\n  '${'x'.repeat(120)}',\n);`],
  ['the word any in a text', anyType, 'a.ts', `const a = 'any'; // any`],
  ['a negation', nonNull, 'a.ts', 'const a = !b;'],
  ['a test that depends on the machine', leftOut, 'a.test.ts', `test.skipIf(x)('a', () => {});`],
  ['members of such names', leftOut, 'a.test.ts', 'cursor.skip(1); options.only;'],
  ['a function at the limit', functionLength, 'a.ts', `function a() {\n${repeat('b();', 58)}}`],
])('the rules allow %s', (_, rule, path, text) => {
  expect(rule(parse(path, text))).toEqual([]);
});
