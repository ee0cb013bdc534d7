// Turns every algorithms/X.lua into text in registry.gen.ts. `--check` fails when that file is stale.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const folder = join(root, 'packages/comporta/src/algorithms');
const target = join(folder, 'registry.gen.ts');
const REQUIRED = ['evaluate', 'commit', 'describe', 'refund'];
const OPTIONAL = ['refundAll', 'reward', 'renew'];
/** Inlined into scripts, so their only `return` must be their last statement. */
const INLINED = ['evaluate', 'commit', 'describe'];

const camel = (name) => name.replace(/-(.)/g, (_, letter) => letter.toUpperCase());

/** Comments and indentation go: they would only cost bytes on the wire. */
function strip(lua) {
  const lines = lua.split('\n').map((line) => line.replace(/(^|\s)--(?![^']*'[^']*$).*$/, '').trim());
  return lines.filter((line) => line !== '').join('\n');
}

/** A file with those that it includes in their places. */
function readLua(file) {
  const lua = readFileSync(join(folder, file), 'utf8');
  return lua.replace(/^-- @include (\S+)$/gm, (_, included) => readLua(included));
}

/** The top-level functions of a file, in order; a comment that begins so says that one is called in rare cases only. */
function functionsOf(lua) {
  const pattern = /^(-- @seldom\n(?:--.*\n)*)?local function (\w+)\(([^)]*)\)\n([\s\S]*?)^end$/gm;
  return [...lua.matchAll(pattern)].map(([text, seldom, name, parameters, body]) => ({
    name,
    isSeldom: seldom !== undefined,
    text: strip(text),
    parameters: parameters.split(',').map((word) => word.trim()),
    body: strip(body),
  }));
}

/** Splits a body at its last `return`. */
function splitReturn({ name, parameters, body }, file) {
  const at = body.lastIndexOf('return ');
  const [before, result] = [body.slice(0, at), body.slice(at + 7)];
  if (at < 0 || result.includes('\n')) throw new Error(`${file}: ${name} must end with a return`);
  if (INLINED.includes(name) && /\breturn\b/.test(before))
    throw new Error(`${file}: ${name} must have one return only`);
  return { parameters, body: before, result };
}

function entry(file) {
  const name = camel(file.slice(0, -4));
  const found = functionsOf(readLua(file));
  for (const required of REQUIRED) {
    if (!found.some((fn) => fn.name === required)) throw new Error(`${file}: no "local function ${required}(...)"`);
  }
  const isOwn = ({ name }) => REQUIRED.includes(name) || OPTIONAL.includes(name);
  const helpers = found.filter((fn) => !isOwn(fn));
  const own = found.filter(isOwn);
  // Two algorithms in one script may each have a helper of the same name.
  const rename = (text) =>
    helpers.reduce(
      (result, helper) => result.replace(new RegExp(`\\b${helper.name}\\(`, 'g'), `${name}_${helper.name}(`),
      text,
    );
  const functions = Object.fromEntries(
    own.map((fn) => {
      const { parameters, body, result } = splitReturn(fn, file);
      return [fn.name, { parameters, body: rename(body), result: rename(result) }];
    }),
  );
  const texts = helpers.map((helper) => `${rename(helper.text)}\n`);
  const seldom = helpers.filter(({ isSeldom }) => isSeldom).map((helper) => `${name}_${helper.name}`);
  return { name, file: file.slice(0, -4), helpers: texts, seldom, functions };
}

const union = (names) => names.map((name) => `'${name}'`).join(' | ');

function render(entries) {
  const imports = entries.map(({ name, file }) => `import { ${name} } from './${file}.js';`);
  const luas = entries.map(({ name, file: _, ...twin }) => `  ${name}: ${JSON.stringify(twin)},`);
  return [
    '// Made by scripts/gen.mjs from the .lua files beside this one: edit those, then run `npm run gen`.',
    "import type { Algorithm } from './algorithm.js';",
    ...imports,
    '',
    'export interface LuaFunction {',
    '  readonly parameters: readonly string[];',
    '  /** Everything before the last `return`. */',
    '  readonly body: string;',
    '  /** The expressions that the last `return` returns. */',
    '  readonly result: string;',
    '}',
    '',
    "/** An algorithm's Lua twin. */",
    'export interface LuaTwin {',
    '  /** Each calls only those before it. */',
    '  readonly helpers: readonly string[];',
    '  /** Names of those that are called in rare cases only, each by a line of its own. */',
    '  readonly seldom: readonly string[];',
    `  readonly functions: Readonly<Record<${union(REQUIRED)}, LuaFunction> & Partial<Record<${union(OPTIONAL)}, LuaFunction>>>;`,
    '}',
    '',
    '// biome-ignore lint/suspicious/noExplicitAny: each algorithm has a state type of its own.',
    `export const algorithms: Readonly<Record<string, Algorithm<any>>> = { ${entries.map(({ name }) => name).join(', ')} };`,
    '',
    'export const luaTwins: Readonly<Record<string, LuaTwin>> = {',
    ...luas,
    '};',
    '',
  ].join('\n');
}

const files = readdirSync(folder)
  .filter((name) => name.endsWith('.lua'))
  .sort();
const text = render(files.map(entry));
if (process.argv.includes('--check')) {
  let current = '';
  try {
    current = readFileSync(target, 'utf8');
  } catch {}
  if (current !== text) {
    console.error('packages/comporta/src/algorithms/registry.gen.ts is stale: run `npm run gen`');
    process.exit(1);
  }
} else {
  writeFileSync(target, text);
}
