// Loader hooks: `.js` finds `.ts`, package names find their sources, types are stripped. Output is kept by content.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { root, sourceAliases } from './aliases.mjs';

const cache = join(root, 'node_modules/.cache/comporta-ts');
const aliases = sourceAliases();
mkdirSync(cache, { recursive: true });

export async function resolve(specifier, context, next) {
  const source = aliases[specifier];
  if (source !== undefined) return { url: pathToFileURL(source).href, shortCircuit: true };
  if (specifier.startsWith('.') && specifier.endsWith('.js') && context.parentURL?.endsWith('.ts')) {
    const url = new URL(`${specifier.slice(0, -3)}.ts`, context.parentURL);
    if (existsSync(fileURLToPath(url))) return { url: url.href, shortCircuit: true };
  }
  return next(specifier, context);
}

export async function load(url, context, next) {
  if (!url.startsWith('file:') || !url.endsWith('.ts')) return next(url, context);
  return { format: 'module', source: await strip(fileURLToPath(url)), shortCircuit: true };
}

async function strip(path) {
  const text = readFileSync(path, 'utf8');
  const kept = join(cache, `${createHash('sha1').update(path).update(text).digest('hex')}.js`);
  if (existsSync(kept)) return readFileSync(kept, 'utf8');
  const { default: ts } = await import('typescript');
  const compilerOptions = {
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.ESNext,
    verbatimModuleSyntax: true,
    inlineSourceMap: true,
  };
  const { outputText } = ts.transpileModule(text, { fileName: path, compilerOptions });
  // Written aside and renamed: several workers may strip the same file at once.
  writeFileSync(`${kept}.${process.pid}`, outputText);
  renameSync(`${kept}.${process.pid}`, kept);
  return outputText;
}
