import ts from 'typescript';
import { expect, test } from 'vitest';
import { type Import, importsOf, usesOf } from './imports.js';
import { lineOf, nodesOf, offences, parse, type Rule, read, sourcesOf } from './source.js';

const LIBRARY = 'packages/comporta/src/';
const library = sourcesOf('comporta');
const server = sourcesOf('server');

/** Each folder may import from itself and from those in the rows above its own. */
const LAYERS = [
  ['core'],
  ['algorithms', 'identity'],
  ['redis'],
  ['stores', 'policies'],
  ['resilience'],
  ['limiter'],
  ['http', 'telemetry'],
  ['doors'],
  ['adapters', 'drop-in', 'outbound', 'serving', 'testing'],
  // The files beside the folders: what the package exports.
  ['.'],
];

const CLIENTS = ['ioredis', 'redis', 'iovalkey', '@valkey/valkey-glide', '@upstash/redis', 'bun'];

/** A policy's key and cost are functions of the request's view, so its type is known below its layer. */
const EXCEPTIONS = [{ from: 'policies/policy.ts', to: 'http/view.ts' }];

const within = (path: string): string => path.slice(LIBRARY.length);
const folderOf = (path: string): string => (within(path).includes('/') ? (within(path).split('/')[0] ?? '.') : '.');
const layerOf = (path: string): number => LAYERS.findIndex((row) => row.includes(folderOf(path)));

const layers: Rule = (source) =>
  importsOf(source)
    .filter((entry) => entry.target !== undefined && !mayImport(source.path, entry.target, entry))
    .map(({ specifier }) => `imports ${specifier} from a layer that is not below its own`);

function mayImport(from: string, to: string, { typeOnly }: Import): boolean {
  if (!to.startsWith(LIBRARY)) return false;
  if (folderOf(from) === folderOf(to) || layerOf(to) < layerOf(from)) return layerOf(to) >= 0;
  return typeOnly && EXCEPTIONS.some((pair) => pair.from === within(from) && pair.to === within(to));
}

const adapters: Rule = (source) =>
  importsOf(source)
    .filter(() => folderOf(source.path) === 'adapters')
    .filter(({ target, typeOnly }) => target !== undefined && !typeOnly && !/\/(http|doors|adapters)\//.test(target))
    .map(({ specifier }) => `imports ${specifier}: adapters use http/ and doors/ only`);

const packages: Rule = (source) =>
  importsOf(source)
    .filter(({ target }) => target === undefined)
    .flatMap(({ specifier, typeOnly, lazy }) => {
      // The requests of Node's own servers, for those who use them.
      if (specifier === 'node:http' && typeOnly && folderOf(source.path) === 'adapters') return [];
      const homes = CLIENTS.includes(specifier) ? ['redis'] : ['adapters', 'drop-in'];
      const owner = specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
      const peers = JSON.parse(read('packages/comporta/package.json')).peerDependencies as Record<string, string>;
      if (!(owner in peers)) return [`imports ${specifier}, which is not an optional peer`];
      if (!homes.includes(folderOf(source.path)))
        return [`imports ${specifier}, which only ${homes.join('/, ')}/ may name`];
      return typeOnly || lazy ? [] : [`imports ${specifier} at once: only as types or with import()`];
    });

const TIMERS = new Set(['performance', 'setTimeout', 'setInterval', 'setImmediate', 'globalThis']);

/** `new Date(x)` computes; `new Date()` and `Date.now()` read a clock. */
const clocks: Rule = (source) => {
  if ([`${LIBRARY}core/time.ts`, `${LIBRARY}core/globals.ts`].includes(source.path)) return [];
  const dates = nodesOf(source, ts.isNewExpression).filter(({ expression, arguments: args }) => {
    return expression.getText() === 'Date' && (args ?? []).length === 0;
  });
  const reads = nodesOf(source, ts.isPropertyAccessExpression).filter((node) => {
    return ['Date.now', 'AbortSignal.timeout'].includes(node.getText());
  });
  const nodes = [...dates, ...reads, ...usesOf(source, TIMERS)];
  return nodes.map((node) => `line ${lineOf(source, node)}: ${node.getText()} belongs in core/time.ts`);
};

const PLATFORM = new Set(['process', 'Buffer', 'Deno', 'Bun', '__dirname', '__filename']);

const platform: Rule = (source) =>
  usesOf(source, PLATFORM).map((node) => `line ${lineOf(source, node)}: ${node.text} exists on some platforms only`);

const publicOnly: Rule = (source) => {
  const { dependencies, name } = JSON.parse(read('packages/server/package.json')) as {
    dependencies: Record<string, string>;
    name: string;
  };
  const { exports } = JSON.parse(read('packages/comporta/package.json')) as { exports: object };
  const doors = Object.keys(exports).map((path) => `comporta${path.slice(1)}`);
  return importsOf(source).flatMap(({ specifier, target }) => {
    if (target !== undefined) return target.startsWith('packages/server/src/') ? [] : [`reaches out to ${specifier}`];
    const owner = specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
    const declared = specifier.startsWith('node:') || owner in dependencies || owner === name;
    const known = owner === 'comporta' ? doors.includes(specifier) : declared;
    return known ? [] : [`imports ${specifier}, which is neither a dependency nor an export of the library`];
  });
};

test('library files import from their own folder or a lower layer', () => {
  expect(offences(library, layers)).toEqual([]);
});

test('adapters use http/ and doors/ only', () => {
  expect(offences(library, adapters)).toEqual([]);
});

test('only redis/ names a Redis client and only adapters/ a framework, as types or lazily', () => {
  expect(offences(library, packages)).toEqual([]);
});

test('only core/time.ts reads a clock or sets timers', () => {
  expect(offences(library, clocks)).toEqual([]);
});

test('the library uses nothing that only some platforms have', () => {
  expect(offences(library, platform)).toEqual([]);
});

test('the server uses the library through its exports, and its own declared dependencies', () => {
  expect(offences(server, publicOnly)).toEqual([]);
});

// Controls: each rule can fail, and does not fail on the nearest allowed thing.
const inLibrary = (path: string, text: string) => parse(`${LIBRARY}${path}`, text);
const inServer = (text: string) => parse('packages/server/src/a.ts', text);

test.each<[string, Rule, ReturnType<typeof parse>]>([
  ['a higher layer', layers, inLibrary('core/a.ts', `import type { Store } from '../stores/store.js';`)],
  ['a higher layer by export', layers, inLibrary('core/a.ts', `export * from '../stores/store.js';`)],
  ['a higher layer by import type', layers, inLibrary('core/a.ts', `type A = import('../stores/store.js').Store;`)],
  ['a sibling', layers, inLibrary('identity/a.ts', `import { limits } from '../algorithms/limits.js';`)],
  ['an unknown folder', layers, inLibrary('http/a.ts', `import { a } from '../helpers/a.js';`)],
  ['an exception as a value', layers, inLibrary('policies/policy.ts', `import { view } from '../http/view.js';`)],
  ['another package', layers, inLibrary('core/a.ts', `import { a } from '../../../server/src/a.js';`)],
  ['an adapter that skips http/', adapters, inLibrary('adapters/a.ts', `import { a } from '../limiter/create.js';`)],
  ['a client outside redis/', packages, inLibrary('stores/a.ts', `import type { Redis } from 'ioredis';`)],
  ['a client at once', packages, inLibrary('redis/a.ts', `import { Redis } from 'ioredis';`)],
  ['a framework outside adapters/', packages, inLibrary('http/a.ts', `import type { Request } from 'express';`)],
  ['any other package', packages, inLibrary('redis/a.ts', `import type { A } from 'left-pad';`)],
  ['a platform module in an adapter', packages, inLibrary('adapters/a.ts', `import { Server } from 'node:http';`)],
  ['a platform module', packages, inLibrary('core/a.ts', `import { hash } from 'node:crypto';`)],
  ['a required package', packages, inLibrary('redis/a.ts', `const a = require('ioredis');`)],
  ['Date.now', clocks, inLibrary('limiter/a.ts', 'const now = Date.now();')],
  ['Date.now passed on', clocks, inLibrary('limiter/a.ts', 'const clock = { now: Date.now };')],
  ['new Date()', clocks, inLibrary('limiter/a.ts', 'const now = new Date();')],
  ['a timer', clocks, inLibrary('limiter/a.ts', 'setTimeout(() => {}, 1);')],
  ['a timer passed on', clocks, inLibrary('limiter/a.ts', 'const f = { setTimeout };')],
  ['a hidden timer', clocks, inLibrary('limiter/a.ts', 'globalThis.setTimeout(() => {}, 1);')],
  ['performance', clocks, inLibrary('limiter/a.ts', 'const now = performance.now();')],
  ['process', platform, inLibrary('limiter/a.ts', 'const home = process.env.HOME;')],
  ['Buffer', platform, inLibrary('limiter/a.ts', 'const bytes = Buffer.from("a");')],
  ['an inner file of the library', publicOnly, inServer(`import { a } from 'comporta/dist/core/time.js';`)],
  ['the library by path', publicOnly, inServer(`import { a } from '../../comporta/src/index.js';`)],
  ['an undeclared dependency', publicOnly, inServer(`import express from 'express';`)],
])('the rules notice %s', (_, rule, source) => {
  expect(rule(source)).not.toEqual([]);
});

test.each<[string, Rule, ReturnType<typeof parse>]>([
  ['the exception as a type', layers, inLibrary('policies/policy.ts', `import type { V } from '../http/view.js';`)],
  ['a lower layer', layers, inLibrary('stores/a.ts', `import { a } from '../core/time.js';`)],
  ['a client as a type', packages, inLibrary('redis/a.ts', `import type { Redis } from 'ioredis';`)],
  [
    "the types of Node's servers in an adapter",
    packages,
    inLibrary('adapters/a.ts', `import type { S } from 'node:http';`),
  ],
  ['a client loaded lazily', packages, inLibrary('redis/a.ts', `const load = () => import('redis');`)],
  ['a date of a given time', clocks, inLibrary('limiter/a.ts', 'const date = new Date(nowMs).getTime();')],
  ['a member of such a name', clocks, inLibrary('limiter/a.ts', 'clock.setTimeout(1); const p = { performance: 1 };')],
  ['core/time.ts', clocks, inLibrary('core/time.ts', 'export const now = () => Date.now();')],
  ['an export of the library', publicOnly, inServer(`import { createLimiter } from 'comporta';`)],
])('the rules allow %s', (_, rule, source) => {
  expect(rule(source)).toEqual([]);
});
