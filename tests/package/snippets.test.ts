import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { expect, test } from 'vitest';
import { root } from './packed.js';

const pagesIn = (folder: string): string[] =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}/${name}`);
const pages = ['README.md', 'README.pt-BR.md', ...pagesIn('docs'), ...pagesIn('docs/migrate')];

/**
 * The types of Next are with the application in tests/apps/next, which is built and run there; the clients of GLIDE
 * and Bun that the page about Redis shows are with the tests that run them.
 */
const isElsewhere = (page: string): boolean => ['docs/next.md', 'docs/redis.md'].includes(page);

/** A page of one door or platform. Everything on these can be pasted and run. */
const isOfADoor = (page: string): boolean => /^## Minimal use$/m.test(read(page));

/** Packages of other projects that are not installed here: what was there before cannot be compiled. */
const isMissing = (code: string): boolean => /from '(rate-limiter-flexible|@upstash\/ratelimit)'/.test(code);

/** What Bun and Deno have, whose types are not installed here; no more of it than the pages use. */
const runtimes = `type Handle = (request: Request, about: never) => Promise<Response>;
declare const Bun: { serve(options: { port: number; fetch: Handle }): { stop(): Promise<void> } };
declare const Deno: {
  readonly env: { get(name: string): string | undefined };
  serve(handle: Handle): { shutdown(): Promise<void> };
  addSignalListener(name: 'SIGTERM', listener: () => void): void;
};`;

interface Snippet {
  /** Where it stands, as a path that TypeScript can read. */
  readonly path: string;
  readonly text: string;
  readonly language: string;
}

function read(page: string): string {
  return readFileSync(join(root, page), 'utf8');
}

/**
 * The programs of a page: a block, with those after it that are marked `continued`. Blocks that are marked
 * `fragment` only show a few lines.
 */
function snippetsOf(page: string): Snippet[] {
  const text = read(page);
  const snippets: Snippet[] = [];
  for (const { 1: language = '', 2: mark, 3: code = '', index } of text.matchAll(
    /^```(js|ts)(?: (.+))?\n(.*?)^```$/gms,
  )) {
    const before = snippets.at(-1);
    if (mark === 'fragment' || isMissing(code)) continue;
    if (mark === 'continued' && before !== undefined) {
      snippets[snippets.length - 1] = { ...before, text: `${before.text}\n${code}` };
      continue;
    }
    const line = text.slice(0, index).split('\n').length + 1;
    snippets.push({ path: join(root, 'tests', `${page.replaceAll('/', '-')}-line-${line}.ts`), text: code, language });
  }
  return snippets;
}

const messageOf = ({ messageText }: ts.Diagnostic): string => ts.flattenDiagnosticMessageText(messageText, ' ');

/** What the compiler says of the snippets, as one program as strict as the sources. */
function complaintsOf(snippets: readonly Snippet[]): string[] {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root);
  const own = { ...options, experimentalDecorators: true, erasableSyntaxOnly: false };
  const texts = new Map(snippets.map(({ path, text }) => [path, `${text}\nexport {};\n`]));
  const names = [...texts.keys()];
  texts.set(join(root, 'tests/runtimes.d.ts'), runtimes);
  const host = ts.createCompilerHost(own);
  const { readFile, fileExists } = host;
  host.readFile = (path) => texts.get(path) ?? readFile(path);
  host.fileExists = (path) => texts.has(path) || fileExists(path);
  host.getSourceFile = (path, target) => {
    const text = host.readFile(path);
    return text === undefined ? undefined : ts.createSourceFile(path, text, target);
  };
  const program = ts.createProgram([...texts.keys()], own, host);
  return names.flatMap((path) => {
    const file = program.getSourceFile(path);
    const found = [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)];
    return found.map((complaint) => `${path}: ${messageOf(complaint)}`);
  });
}

/** What of a snippet is no JavaScript. */
function typesIn({ path, text }: Snippet): string[] {
  const { diagnostics = [] } = ts.transpileModule(text, { fileName: 'a.js', reportDiagnostics: true });
  return diagnostics.map((complaint) => `${path}: ${messageOf(complaint)}`);
}

const control = { path: join(root, 'tests/control.ts'), language: 'ts' };

test('the programs of the pages compile, and those in JavaScript hold no types', () => {
  const snippets = pages.filter((page) => !isElsewhere(page)).flatMap(snippetsOf);
  expect(snippets.length).toBeGreaterThan(pages.length);
  const wrong = { ...control, text: `import { rateLimit } from 'comporta/express';\nrateLimit(1);` };
  const complaints = complaintsOf([...snippets, wrong]);
  const ofControl = (words: string): boolean => words.includes(control.path);
  expect(complaints.filter(ofControl)).not.toEqual([]);
  expect(complaints.filter((words) => !ofControl(words))).toEqual([]);

  expect(typesIn({ ...control, text: 'const a: number = 1;' })).not.toEqual([]);
  expect(snippets.filter(({ language }) => language === 'js').flatMap(typesIn)).toEqual([]);
});

test('everything on the page of a door can be pasted', () => {
  const doors = pages.filter(isOfADoor);
  expect(doors).toContain('docs/express.md');
  expect(doors.filter((page) => /^```\w+ fragment$/m.test(read(page)))).toEqual([]);
});

test('a page with the URL of a store says to install the client that serves URLs', () => {
  const isSilent = (text: string): boolean =>
    /redisStore\(('redis|process\.env|Deno\.env)/.test(text) &&
    !/(npm i|npm install|bun add|deno add) .*\bredis\b|needs the package `redis`/.test(text);
  expect(isSilent("npm install comporta ioredis\nredisStore('redis://127.0.0.1:6379')")).toBe(true);
  expect(pages.filter((page) => isSilent(read(page)))).toEqual([]);
});
