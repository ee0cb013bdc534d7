import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { expect, test } from 'vitest';
import { root } from './packed.js';

/** Every `ts` block of these pages is a module that compiles by itself. */
const pages = ['docs/drop-in.md', ...readdirSync(join(root, 'docs/migrate')).map((name) => `docs/migrate/${name}`)];

interface Snippet {
  /** Where it stands, as a path that TypeScript can read. */
  readonly path: string;
  readonly text: string;
}

function snippetsOf(page: string): Snippet[] {
  const text = readFileSync(join(root, page), 'utf8');
  return [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(({ 1: code = '', index }) => {
    const line = text.slice(0, index).split('\n').length + 1;
    return { path: join(root, 'tests', `${page.replaceAll('/', '-')}-line-${line}.ts`), text: code };
  });
}

/** What the compiler says of the snippets, as one program with the settings of the sources. */
function complaintsOf(snippets: readonly Snippet[]): string[] {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root);
  const lenient = { ...options, experimentalDecorators: true, erasableSyntaxOnly: false, noImplicitAny: true };
  const texts = new Map(snippets.map(({ path, text }) => [path, `${text}\nexport {};\n`]));
  const host = ts.createCompilerHost(lenient);
  const { readFile, fileExists } = host;
  host.readFile = (path) => texts.get(path) ?? readFile(path);
  host.fileExists = (path) => texts.has(path) || fileExists(path);
  host.getSourceFile = (path, target) => {
    const text = host.readFile(path);
    return text === undefined ? undefined : ts.createSourceFile(path, text, target);
  };
  const program = ts.createProgram([...texts.keys()], lenient, host);
  return [...texts.keys()].flatMap((path) => {
    const file = program.getSourceFile(path);
    const found = [...program.getSemanticDiagnostics(file), ...program.getSyntacticDiagnostics(file)];
    return found.map(({ messageText }) => `${path}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`);
  });
}

test('the code of the pages about other projects compiles', () => {
  const snippets = pages.flatMap(snippetsOf);
  expect(snippets.length).toBeGreaterThan(pages.length);
  const wrong = {
    path: join(root, 'tests/control.ts'),
    text: `import { rateLimit } from 'comporta/express';\nrateLimit(1);`,
  };
  const complaints = complaintsOf([...snippets, wrong]);
  expect(complaints.filter((words) => words.includes('control.ts'))).not.toEqual([]);
  expect(complaints.filter((words) => !words.includes('control.ts'))).toEqual([]);
});
