import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { makeFolder, runCommand } from './cli-support.js';
import { type Ask, configIn, connect, of, publish, startDoor } from './envoy-support.js';

const domain = (limit: number, name = 'shop'): string =>
  `domain: ${name}\ndescriptors: [{ key: user, rate_limit: { requests_per_unit: ${limit}, unit: day } }]\n`;

const LOOK = { domain: 'shop', descriptors: [{ ...of('user=a')[0], hits_addend: { value: 0 } }] };

const limitOf = async (ask: Ask, name = 'shop'): Promise<number | undefined> =>
  (await ask({ ...LOOK, domain: name })).statuses[0]?.current_limit?.requests_per_unit;

/** Waits for a limit to be in force, for the time that is promised. */
const inForce = (ask: Ask, limit: number | undefined, name?: string) =>
  expect.poll(() => limitOf(ask, name), { timeout: 1000, interval: 10 }).toBe(limit);

describe('changed files of domains are in force within a second when', () => {
  test('one is written in place, or replaced', async () => {
    const folder = makeFolder();
    const { ask } = await startDoor(configIn(folder, [domain(1)]));
    writeFileSync(join(folder, 'domain-0.yaml'), domain(22));
    await inForce(ask, 22);
    publish(join(folder, 'domain-0.yaml'), domain(33));
    await inForce(ask, 33);
  });

  test('a folder gets one more, and loses one', async () => {
    const folder = makeFolder();
    publish(join(folder, 'domains/a.yaml'), domain(1));
    publish(join(folder, 'domains/README.md'), 'not a domain');
    const { ask } = await startDoor(configIn(folder, [], { config: 'domains' }));
    publish(join(folder, 'domains/b.yml'), domain(2, 'other'));
    await inForce(ask, 2, 'other');
    rmSync(join(folder, 'domains/b.yml'));
    await inForce(ask, undefined, 'other');
    expect(await limitOf(ask)).toBe(1);
  });

  test('the symlink of a Kubernetes ConfigMap is pointed elsewhere', async () => {
    const folder = makeFolder();
    const mount = join(folder, 'mount');
    mkdirSync(mount);
    const put = (version: string, limit: number): void => {
      mkdirSync(join(mount, version));
      writeFileSync(join(mount, version, 'shop.yaml'), domain(limit));
      symlinkSync(version, join(mount, '..data_tmp'));
      renameSync(join(mount, '..data_tmp'), join(mount, '..data'));
    };
    put('..2026_1', 1);
    symlinkSync(join('..data', 'shop.yaml'), join(mount, 'shop.yaml'));
    for (const config of ['mount', 'mount/shop.yaml']) {
      const { ask } = await startDoor(configIn(folder, [], { config }));
      const [first, second] = config === 'mount' ? [2, 3] : [4, 5];
      for (const limit of [first, second]) {
        put(`..2026_${limit}`, limit);
        await inForce(ask, limit);
      }
    }
  });
});

test('a broken file keeps the last good one, and says where it is broken, once', async () => {
  const folder = makeFolder();
  const reloads: boolean[] = [];
  const hooks = { onReload: (_: string, isGood: boolean) => void reloads.push(isGood) };
  const { ask, lines } = await startDoor(configIn(folder, [domain(1)]), { hooks });
  const file = join(folder, 'domain-0.yaml');
  publish(
    file,
    'domain: shop\ndescriptors:\n  - key: user\n    rate_limit: { requests_per_unit: 1, unit: fortnight }\n',
  );
  const words = () => lines.filter((line) => line.startsWith('error domains not reloaded'));
  await expect.poll(words, { timeout: 2000 }).toHaveLength(1);
  expect(words()[0]).toContain(`${file}:4:`);
  expect(words()[0]).toContain('fortnight');
  expect(await limitOf(ask)).toBe(1);
  rmSync(file);
  await expect.poll(words, { timeout: 2000 }).toHaveLength(2);
  expect(words()[1]).toContain('there is no such file');
  publish(file, domain(7));
  await inForce(ask, 7);
  expect(reloads).toEqual([false, false, true]);
});

test('counts go on over a reload, and no call fails while files change under it', async () => {
  const folder = makeFolder();
  const { ask, lines } = await startDoor(configIn(folder, [domain(1_000_000)]));
  const calls: Promise<unknown>[] = [];
  let isOver = false;
  onTestFinished(() => {
    isOver = true;
  });
  const load = async (): Promise<number> => {
    let count = 0;
    for (; !isOver; count++) {
      const call = ask({ domain: 'shop', descriptors: of('user=a') });
      calls.push(call);
      await call;
    }
    return count;
  };
  const loads = Array.from({ length: 8 }, load);
  for (const limit of [1_000_001, 1_000_002, 1_000_003]) {
    publish(join(folder, 'domain-0.yaml'), domain(limit));
    await inForce(ask, limit);
  }
  isOver = true;
  const count = (await Promise.all(loads)).reduce((sum, one) => sum + one, 0);
  await Promise.all(calls);
  const left = (await ask(LOOK)).statuses[0]?.limit_remaining;
  expect(count).toBeGreaterThan(100);
  expect(left).toBe(1_000_003 - count);
  expect(lines.filter((line) => line.startsWith('info domains reloaded'))).toHaveLength(3);
});

test('a changed configuration is followed: mode, files, and what an outage does', async () => {
  const folder = makeFolder();
  const door = await startDoor(configIn(folder, [domain(1)]));
  await door.ask({ domain: 'shop', descriptors: of('user=a') });
  const before = await door.ask({ domain: 'shop', descriptors: of('user=a') });
  expect(before.overall_code).toBe('OVER_LIMIT');
  door.apply(configIn(folder, [domain(1), domain(9, 'other')], { shadow: true }));
  expect((await door.ask({ domain: 'shop', descriptors: of('user=a') })).overall_code).toBe('OK');
  expect(await limitOf(door.ask, 'other')).toBe(9);
  publish(join(folder, 'domain-1.yaml'), domain(10, 'other'));
  await inForce(door.ask, 10, 'other');
});

test('check names every problem of every file; serve follows SIGHUP and ends without a word of error', async () => {
  const folder = makeFolder();
  publish(join(folder, 'a.yaml'), 'domain: a\ndescriptors:\n  - key: user\n    rate_limits: {}\n  - { value: x }\n');
  publish(join(folder, 'b.yaml'), 'domain: b\ndescriptors: 5\n');
  const file = join(folder, 'comporta.yaml');
  publish(file, 'envoy: { listen: 127.0.0.1:0, config: [a.yaml, b.yaml], drainDelay: 0 }\n');
  const check = runCommand(['check', '-c', file]);
  expect(await check.exit()).toBe(1);
  const [a, b] = ['a.yaml', 'b.yaml'].map((name) => join(folder, name));
  expect(check.output()).toContain(
    `${a}:4:5: descriptors[0].rate_limits: unknown field\n  hint: did you mean "rate_limit"?`,
  );
  expect(check.output()).toContain(`${a}:5:5: descriptors[1].key: missing`);
  expect(check.output()).toContain(`${b}:2:14: descriptors: expected a list, got 5`);
  expect(check.output()).toContain('3 problems');
  for (const name of ['a', 'b']) publish(join(folder, `${name}.yaml`), domain(3, name));
  const serve = runCommand(['serve', '-c', file]);
  await serve.says('envoy rate limit service on');
  const address = /service on (\S+)/.exec(serve.output())?.[1] ?? '';
  const ask = connect(address);
  expect(await limitOf(ask, 'b')).toBe(3);
  publish(join(folder, 'b.yaml'), domain(4, 'b'));
  await inForce(ask, 4, 'b');
  serve.signal('SIGHUP');
  await serve.says('configuration reloaded');
  expect(await limitOf(ask, 'b')).toBe(4);
  serve.signal('SIGTERM');
  expect(await serve.exit()).toBe(0);
  expect(serve.output()).not.toMatch(/error|warn/i);
});
