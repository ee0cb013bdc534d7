import { slidingWindow } from 'comporta';
import { createGate, type GateOptions } from 'comporta/http';
import { faultyStore } from 'comporta/testing';
import { describe, expect, test } from 'vitest';
import { loadConfig } from '../../../packages/server/src/config/load.js';
import { refusalOf } from '../../support/refusal.js';

const limits = slidingWindow({ limit: 1, window: '1s' });
const gate = (
  options: Omit<GateOptions, 'policies'>,
  ...modes: readonly (GateOptions['onStoreFailure'] | undefined)[]
) =>
  createGate({
    ...options,
    policies: modes.map((mode, i) => ({
      name: `p${i}`,
      limits,
      ...(mode === undefined ? {} : { onStoreFailure: mode }),
    })),
  });

describe('a number of processes', () => {
  test('is refused where no policy counts by itself', () => {
    for (const make of [
      () => gate({ instances: 4 }, 'open', 'closed'),
      () => gate({ instances: 4, onStoreFailure: 'closed' }, undefined),
    ]) {
      expect(refusalOf(make)).toMatchObject({ code: 'ERR_OPTION', field: 'instances' });
    }
  });

  test('may stand beside policies that do not use it, as long as one does', async () => {
    await gate({ instances: 4, payBack: true }, 'open', undefined).close();
    await gate({ instances: 4, onStoreFailure: 'closed' }, undefined, 'local').close();
    await gate({ instances: 'auto', payBack: true }, 'closed').close();
  });

  test('is of use to a policy with leases in every mode, and reaches it', async () => {
    const options = { instances: 4, onStoreFailure: 'closed', store: faultyStore() } as const;
    const lease = { maxOvershoot: 4 };
    await createGate({ ...options, policies: [{ name: 'p', limits, lease }] }).close();
    const wrong = () => createGate({ ...options, instances: 0, policies: [{ name: 'p', limits, lease }] });
    expect(refusalOf(wrong)).toMatchObject({ code: 'ERR_OPTION', field: 'instances' });
  });

  test('is refused in a file by its line, once', () => {
    const policy = (name: string, mode: string): string =>
      `  - { name: ${name}, key: ip, onStoreFailure: ${mode}, limits: [{ slidingWindow: { limit: 1, window: 1s } }] }`;
    const file = (...modes: readonly string[]): string =>
      [
        'instances: 4',
        'gateway: { listen: 127.0.0.1:0, routes: [{ path: /, upstream: echo }] }',
        'policies:',
        ...modes.map((mode, i) => policy(`p${i}`, mode)),
      ].join('\n');
    expect(loadConfig(file('open', 'closed'), {})).toMatchObject({
      problems: [
        { line: 1, path: 'instances', message: 'changes nothing: no policy has onStoreFailure: local or a lease' },
      ],
    });
    expect(loadConfig(file('open', 'local'), {})).toMatchObject({ config: { gate: { instances: 4 } } });
    expect(loadConfig(file('open', 'closed, lease: { maxOvershoot: 5% }'), {})).toMatchObject({
      config: { gate: { instances: 4 } },
    });
  });
});
