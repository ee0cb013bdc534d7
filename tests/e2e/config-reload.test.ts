import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { request } from 'undici';
import { describe, expect, it } from 'vitest';
import { type FileContent, loadFile, watchConfigFile } from '../../packages/server/src/config/file.js';
import { Reloader } from '../../packages/server/src/config/reloader.js';
import { makeFolder, runCommand } from './cli-support.js';
import {
  configOf,
  gatewayFile,
  onCleanup,
  policyOf,
  recordLog,
  startGateway,
  startUpstream,
  until,
} from './gateway-support.js';

const POLL_MS = 10;

const textOf = (limit: number): string =>
  `policies: [{ name: p, limits: { fixedWindow: { limit: ${limit}, window: 1d } } }]\ngateway: { listen: 127.0.0.1:0, routes: [{ path: /, upstream: echo }] }\n`;

/** A watched file whose limits, as they come into force, are written down. */
function watch(file: string): { readonly limits: number[]; readonly lines: readonly string[] } {
  const first = loadFile(file, {}) as Extract<FileContent, { config: unknown }>;
  const { log, lines } = recordLog();
  const limits: number[] = [];
  const apply = (config: typeof first.config): void => {
    const [policy] = config.gate.policies;
    const [limit] = [policy?.limits].flat();
    limits.push(limit?.limit ?? -1);
  };
  const reloader = new Reloader({ file, first, load: () => loadFile(file, {}), apply, log });
  onCleanup(watchConfigFile(file, () => reloader.reload(false), POLL_MS));
  return { limits, lines };
}

describe('a changed file is noticed when it', () => {
  it('is written in place', async () => {
    const file = join(makeFolder(), 'comporta.yaml');
    writeFileSync(file, textOf(1));
    const { limits, lines } = watch(file);
    writeFileSync(file, textOf(22));
    await until('the reload', () => limits.length === 1);
    expect(limits).toEqual([22]);
    expect(lines).toEqual([expect.stringMatching(/^info configuration reloaded .*"policies":1,"routes":1/)]);
  });

  it('is replaced by a rename, as editors do', async () => {
    const folder = makeFolder();
    const file = join(folder, 'comporta.yaml');
    writeFileSync(file, textOf(1));
    const { limits } = watch(file);
    for (const limit of [2, 3]) {
      writeFileSync(join(folder, 'new'), textOf(limit));
      renameSync(join(folder, 'new'), file);
      await until('the reload', () => limits.includes(limit));
    }
    expect(limits).toEqual([2, 3]);
  });

  it('is behind symlinks that are pointed elsewhere, as in a Kubernetes ConfigMap', async () => {
    const folder = makeFolder();
    const publish = (version: string, limit: number): void => {
      mkdirSync(join(folder, version));
      writeFileSync(join(folder, version, 'comporta.yaml'), textOf(limit));
      symlinkSync(version, join(folder, '..data_tmp'));
      renameSync(join(folder, '..data_tmp'), join(folder, '..data'));
    };
    publish('..2026_1', 1);
    const file = join(folder, 'comporta.yaml');
    symlinkSync(join('..data', 'comporta.yaml'), file);
    const { limits } = watch(file);
    for (const limit of [2, 3]) {
      publish(`..2026_${limit}`, limit);
      await until('the reload', () => limits.includes(limit));
    }
    expect(limits).toEqual([2, 3]);
  });

  it('goes away and comes back', async () => {
    const folder = makeFolder();
    const file = join(folder, 'comporta.yaml');
    writeFileSync(file, textOf(1));
    const { limits, lines } = watch(file);
    renameSync(file, join(folder, 'away'));
    await until('the complaint', () => lines.length === 1);
    expect(lines[0]).toMatch(
      /^error configuration not reloaded, the last good one stays in force: .*there is no such file/,
    );
    writeFileSync(join(folder, 'away'), textOf(5));
    renameSync(join(folder, 'away'), file);
    await until('the reload', () => limits.length === 1);
    expect(limits).toEqual([5]);
  });
});

describe('a bad change', () => {
  it('is not taken at all, said in one line, and mended by the next good one', async () => {
    const file = join(makeFolder(), 'comporta.yaml');
    writeFileSync(file, textOf(1));
    const { limits, lines } = watch(file);
    writeFileSync(file, textOf(2).replace('limit:', 'limt:'));
    await until('the complaint', () => lines.length === 1);
    expect(lines[0]).toMatch(/comporta\.yaml:1:\d+: policies\[0\]\.limits\.fixedWindow\.li/);
    expect(lines[0]).toContain('(and 1 more)');
    expect(limits).toEqual([]);
    writeFileSync(file, textOf(3));
    await until('the reload', () => limits.length === 1);
    expect(limits).toEqual([3]);
  });

  it('that fails only when it is put in force leaves the old one in force', () => {
    const { log, lines } = recordLog();
    const [config, text] = [configOf(gatewayFile('echo')), 'old'];
    const load = () => ({ text: 'new', config });
    const apply = () => {
      throw new Error('no such thing');
    };
    new Reloader({ file: 'f', first: { text, config }, load, apply, log }).reload(false);
    expect(lines).toEqual([
      'error configuration not reloaded, the last good one stays in force {"error":"no such thing"}',
    ]);
  });
});

describe('what a reload changes', () => {
  it('names what waits for a restart', () => {
    const { log, lines } = recordLog();
    const config = configOf(gatewayFile('echo'));
    const changed = configOf(
      gatewayFile(
        'echo',
        { listen: '127.0.0.1:1', idleTimeout: '1s' },
        { store: 'redis://127.0.0.1:1', api: { listen: '127.0.0.1:2' } },
      ),
    );
    new Reloader({
      file: 'f',
      first: { text: 'old', config },
      load: () => ({ text: 'new', config: changed }),
      apply: () => undefined,
      log,
    }).reload(false);
    expect(lines).toEqual([
      expect.stringMatching(/^warn .*"restart":"store, gateway\.listen, gateway\.idleTimeout, api"/),
    ]);
  });

  it('limits and routes change live, and usage is kept', async () => {
    const upstream = await startUpstream();
    const { app, origin } = await startGateway(gatewayFile('echo', {}, { policies: [policyOf(2)] }));
    const statusOf = async (): Promise<number> => {
      const { statusCode, body } = await request(origin);
      await body.dump();
      return statusCode;
    };
    expect([await statusOf(), await statusOf(), await statusOf()]).toEqual([200, 200, 429]);
    app.apply(configOf(gatewayFile(upstream.origin, {}, { policies: [policyOf(3)] })));
    expect([await statusOf(), await statusOf()]).toEqual([200, 429]);
    expect(upstream.requests).toHaveLength(1);
    app.apply(configOf(gatewayFile(upstream.origin, {}, { policies: [] })));
    expect(await statusOf()).toBe(200);
  });

  it('requests in flight end as they began', async () => {
    let finish = (): void => undefined;
    const upstream = await startUpstream((_, response) => {
      finish = () => response.end('old');
    });
    const { app, origin } = await startGateway(gatewayFile(upstream.origin, {}, { policies: [policyOf(5)] }));
    const answer = request(origin);
    await until('the request to arrive', () => upstream.requests.length === 1);
    app.apply(configOf(gatewayFile('echo', {}, { policies: [policyOf(5)] })));
    expect((await request(origin)).statusCode).toBe(200);
    finish();
    expect(await (await answer).body.text()).toBe('old');
  });

  it('comes with SIGHUP too, which always gets an answer', async () => {
    const file = join(makeFolder(), 'comporta.yaml');
    writeFileSync(file, textOf(0));
    const command = runCommand(['serve', '-c', file]);
    const { gateway } = await command.ports();
    const statusOf = async (): Promise<number> => {
      const { statusCode, body } = await request(`http://127.0.0.1:${gateway}`);
      await body.dump();
      return statusCode;
    };
    expect(await statusOf()).toBe(429);
    writeFileSync(file, textOf(9));
    command.signal('SIGHUP');
    await until('the new limit', async () => (await statusOf()) === 200);
    writeFileSync(file, 'nonsense');
    command.signal('SIGHUP');
    await command.says('not reloaded');
    expect(await statusOf()).toBe(200);
  });
});
