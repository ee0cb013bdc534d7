// Turns every algorithms/X.lua into text in registry.gen.ts. `--check` fails when that file is stale.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const folder = join(root, 'packages/comporta/src/algorithms');
const target = join(folder, 'registry.gen.ts');

const camel = (name) => name.replace(/-(.)/g, (_, letter) => letter.toUpperCase());

/** Comments and indentation go: they would only cost bytes on the wire. */
function strip(lua) {
  const lines = lua.split('\n').map((line) => line.replace(/(^|\s)--(?![^']*'[^']*$).*$/, '').trim());
  return lines.filter((line) => line !== '').join('\n');
}

/** Parameter names of `local function NAME(...)`; all three functions must be there. */
function parameters(lua, name, file) {
  const match = new RegExp(`^local function ${name}\\(([^)]*)\\)`, 'm').exec(lua);
  if (match === null) throw new Error(`${file}: no "local function ${name}(...)"`);
  return match[1].split(',').map((word) => word.trim());
}

function entry(file) {
  const lua = readFileSync(join(folder, file), 'utf8');
  const signatures = Object.fromEntries(
    ['evaluate', 'commit', 'refund'].map((name) => [name, parameters(lua, name, file)]),
  );
  return { name: camel(file.slice(0, -4)), file: file.slice(0, -4), code: strip(lua), signatures };
}

function render(entries) {
  const imports = entries.map(({ name, file }) => `import { ${name} } from './${file}.js';`);
  const luas = entries.map(
    ({ name, code, signatures }) =>
      `  ${name}: {\n    code: ${JSON.stringify(code)},\n    signatures: ${JSON.stringify(signatures)},\n  },`,
  );
  return [
    '// Made by scripts/gen.mjs from the .lua files beside this one: edit those, then run `npm run gen`.',
    "import type { Algorithm } from './algorithm.js';",
    ...imports,
    '',
    '/** An algorithm\'s Lua twin: its text and the parameter names of its three functions. */',
    'export interface LuaTwin {',
    '  readonly code: string;',
    "  readonly signatures: Readonly<Record<'evaluate' | 'commit' | 'refund', readonly string[]>>;",
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

const files = readdirSync(folder).filter((name) => name.endsWith('.lua')).sort();
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
