import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { doorsOf, emptyProject, linkPeers, pack, root, run, tool, write } from './packed.js';

// What users install, not what the repository holds: archives made by npm, in folders far from the sources.
const work = mkdtempSync(join(tmpdir(), 'comporta-package-'));
const doors = doorsOf('packages/comporta');
let library = '';
let server = '';

const install = (folder: string, ...what: readonly string[]) =>
  run(folder, 'npm', 'install', '--no-audit', '--no-fund', '--prefer-offline', '--ignore-scripts', ...what);

const installed = (folder: string): string[] =>
  readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.'));

const importAll = `for (const name of process.argv.slice(2)) {
  const { length } = Object.keys(await import(name));
  if (length === 0) throw new Error(name + ' exports nothing');
}
`;

beforeAll(async () => {
  const missing = ['packages/comporta/dist/index.js', 'packages/server/dist/index.js'];
  const absent = missing.find((path) => !existsSync(join(root, path)));
  if (absent !== undefined) throw new Error(`${absent} is missing: run \`npm run build\` first`);
  library = await pack('packages/comporta', work);
  server = await pack('packages/server', work);
});
afterAll(() => rmSync(work, { recursive: true, force: true }));

describe('the library in an empty folder', () => {
  const folder = emptyProject(join(work, 'empty'));
  beforeAll(async () => {
    expect(await install(folder, library)).toMatchObject({ ok: true });
  });

  test('installing it adds exactly one package', () => {
    expect(installed(folder)).toEqual(['comporta']);
  });

  test('the archive holds what is built, and no tests', async () => {
    const { output } = await run(folder, 'tar', '-tzf', library);
    const names = output.trim().split('\n');
    expect(
      names.filter((name) => !/^package\/(dist\/.+\.(js|d\.ts)|package\.json|README\.md|LICENSE)$/.test(name)),
    ).toEqual([]);
    expect(names.filter((name) => name.includes('.test.'))).toEqual([]);
  });

  test('every export loads without any peer', async () => {
    write(folder, 'all.mjs', importAll);
    expect(await run(folder, process.execPath, 'all.mjs', ...doors)).toEqual({ ok: true, output: '' });
  });

  test('what is not exported cannot be reached', async () => {
    write(folder, 'all.mjs', importAll);
    const { ok, output } = await run(folder, process.execPath, 'all.mjs', 'comporta/dist/core/time.js');
    expect(ok).toBe(false);
    expect(output).toContain('ERR_PACKAGE_PATH_NOT_EXPORTED');
  });

  test('CommonJS code can require it', async () => {
    write(folder, 'main.cjs', `const { createLimiter } = require('comporta');\nconsole.log(typeof createLimiter);\n`);
    const { output } = await run(folder, process.execPath, '--no-warnings', 'main.cjs');
    expect(output).toBe('function\n');
  });

  test('a limiter decides, and the process ends by itself', async () => {
    const code = `import { createLimiter, tokenBucket } from 'comporta';
      const limiter = createLimiter({ policy: 'p', limits: tokenBucket({ capacity: 1, refill: 1, every: '1h' }) });
      console.log((await limiter.consume('a')).allowed, (await limiter.consume('a')).allowed);
      await limiter.close();`;
    write(folder, 'main.mjs', code);
    expect(await run(folder, process.execPath, 'main.mjs')).toEqual({ ok: true, output: 'true false\n' });
  });
});

describe('the library beside its peers', () => {
  const folder = emptyProject(join(work, 'peers'));
  beforeAll(async () => {
    expect(await install(folder, library)).toMatchObject({ ok: true });
    expect(linkPeers(folder)).toEqual(expect.arrayContaining(['elysia', 'express', 'h3', 'hono', 'ioredis', 'redis']));
  });

  test('every export loads', async () => {
    write(folder, 'all.mjs', importAll);
    expect(await run(folder, process.execPath, 'all.mjs', ...doors)).toEqual({ ok: true, output: '' });
  });

  test('functions of a policy get the request of their framework, typed', async () => {
    const code = `import { Elysia } from 'elysia';
      import { H3 } from 'h3';
      import { Hono } from 'hono';
      import { tokenBucket } from 'comporta';
      import { rateLimit as elysiaLimit } from 'comporta/elysia';
      import { rateLimit as h3Limit } from 'comporta/h3';
      import { rateLimit as honoLimit } from 'comporta/hono';
      const limits = tokenBucket({ capacity: 1, refill: 1, every: '1s' });
      new Elysia().use(elysiaLimit({ limits, key: ({ request }) => request.headers.get('x-user') ?? '' }));
      new H3().use(h3Limit({ limits, key: ({ request }) => request.context.params?.id ?? '' }));
      new Hono().use(honoLimit({ limits, key: ({ request }) => request.req.query('user') ?? '' }));`;
    write(folder, 'right.ts', code);
    write(folder, 'wrong.ts', code.replaceAll('=> request.', '=> request.nothing.'));
    const flags = ['--noEmit', '--strict', '--target', 'es2022', '--module', 'nodenext', '--skipLibCheck'];
    const compile = (file: string) => run(folder, tool('tsc'), ...flags, file);
    expect(await compile('right.ts')).toEqual({ ok: true, output: '' });
    expect((await compile('wrong.ts')).output.match(/Property 'nothing' does not exist/g)).toHaveLength(3);
  });
});

describe('the types of the library', () => {
  const folder = emptyProject(join(work, 'types'));
  const options = { noEmit: true, strict: true, target: 'ES2022', types: [] };
  const compile = (module: string, moduleResolution: string, skipLibCheck: boolean, file: string) => {
    const compilerOptions = { ...options, module, moduleResolution, skipLibCheck, lib: ['ES2022', 'DOM'] };
    write(folder, 'tsconfig.json', JSON.stringify({ compilerOptions, files: [file] }));
    return run(folder, tool('tsc'), '-p', folder);
  };
  beforeAll(async () => {
    expect(await install(folder, library)).toMatchObject({ ok: true });
    const code = `import { createLimiter, type Decision, slidingWindow } from 'comporta';
      const limiter = createLimiter({ policy: 'p', limits: slidingWindow({ limit: 1, window: '1s' }) });
      export const decision: Promise<Decision> = limiter.consume('a');
      export const left: number | undefined = (await decision).binding?.remaining;`;
    write(folder, 'right.ts', code);
    write(
      folder,
      'wrong.ts',
      `import { slidingWindow } from 'comporta';\nslidingWindow({ limit: '1', window: '1s' });\n`,
    );
    write(folder, 'doors.ts', doors.map((door, i) => `export * as door${i} from '${door}';`).join('\n'));
  });

  test.each([
    ['NodeNext', 'NodeNext'],
    ['ESNext', 'bundler'],
  ])('work with module %s and resolution %s, without any peer', async (module, resolution) => {
    // The library's own declarations are checked as well where they need no peer.
    expect(await compile(module, resolution, false, 'right.ts')).toEqual({ ok: true, output: '' });
    expect(await compile(module, resolution, true, 'doors.ts')).toEqual({ ok: true, output: '' });
    const { ok, output } = await compile(module, resolution, true, 'wrong.ts');
    expect(ok).toBe(false);
    expect(output).toContain("Type 'string' is not assignable to type 'number'");
  });
});

describe('the archives', () => {
  test.each(['library', 'server'])('publint finds nothing in the %s', async (which) => {
    const { ok, output } = await run(work, tool('publint'), 'run', which === 'library' ? library : server, '--strict');
    expect(ok, output).toBe(true);
  });

  test.each(['library', 'server'])('are the types wrong? Not in the %s', async (which) => {
    const { ok, output } = await run(
      work,
      tool('attw'),
      which === 'library' ? library : server,
      '--profile',
      'esm-only',
    );
    expect(ok, output).toBe(true);
  });
});

describe('the server in an empty folder', () => {
  const folder = emptyProject(join(work, 'server'));
  beforeAll(async () => {
    // It is not published yet, so the library comes from its archive too.
    expect(await install(folder, library, server)).toMatchObject({ ok: true });
  });

  test('the command is there, and says how it is used', async () => {
    const { ok, output } = await run(folder, join(folder, 'node_modules/.bin/comporta'), '--help');
    expect(ok, output).toBe(true);
    expect(output).toContain('serve');
  });

  test('its export loads', async () => {
    write(folder, 'all.mjs', importAll);
    expect(await run(folder, process.execPath, 'all.mjs', 'comporta-server')).toEqual({ ok: true, output: '' });
  });
});
