import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { memoryStore } from 'comporta';
import { FakeClock } from 'comporta/testing';
import { describe, expect, test } from 'vitest';
import { loadFile } from '../../packages/server/src/config/file.js';
import { casesOf, filesOf } from '../unit/server-envoy/cases.js';
import { makeFolder } from './cli-support.js';
import { configIn, of, type RlsResponse, startDoor } from './envoy-support.js';

const start = async (texts: readonly string[], clock = new FakeClock(1_000_000)) =>
  startDoor(configIn(makeFolder(), texts, { mode: 'strict' }), { store: memoryStore({ clock }) });

const codesOf = ({ statuses }: RlsResponse): string[] => statuses.map(({ code }) => code);
const leftOf = ({ statuses }: RlsResponse): number[] => statuses.map(({ limit_remaining: left = 0 }) => left);

const quirk = (name: string) => {
  const found = casesOf('match').find((one) => one.quirk === true && one.name.startsWith(name));
  if (found === undefined) throw new Error(`no case ${name}`);
  return found;
};

/** What `check` and `serve` say of a case in mode strict. */
function problemsOf(name: string) {
  const folder = makeFolder();
  const [{ text } = { text: '' }] = filesOf(quirk(name));
  writeFileSync(join(folder, 'domain.yaml'), text);
  const file = join(folder, 'comporta.yaml');
  const envoy = { listen: '127.0.0.1:0', config: 'domain.yaml', mode: 'strict' };
  writeFileSync(file, JSON.stringify({ envoy }));
  const content = loadFile(file, {});
  return 'problems' in content ? content.problems : [];
}

describe('what is a quirk of envoyproxy/ratelimit is not so in mode strict', () => {
  test('a wildcard in a key is refused', () => {
    expect(problemsOf('* inside the key')[0]).toMatchObject({ line: 1, path: 'descriptors[0].key' });
  });

  test('rules that replace each other are refused, each at its place', () => {
    const problems = problemsOf('mutual replaces');
    expect(problems.map(({ path }) => path)).toEqual([
      'descriptors[0].rate_limit.replaces',
      'descriptors[1].rate_limit.replaces',
    ]);
    expect(problems[0]?.hint).toBe('keep the direction that is meant');
  });

  test('a key and a value never find a rule whose key is both', async () => {
    const { domain, descriptors, ...rest } = quirk('key and value are joined');
    const { ask } = await start(filesOf({ domain, descriptors, ...rest }).map(({ text }) => text));
    const { statuses } = await ask({ domain, descriptors });
    expect(statuses.map((status) => status.current_limit)).toEqual([undefined, undefined]);
  });

  test('different entries never share a counter', async () => {
    const rlsCase = quirk('counter keys are joined');
    const { ask } = await start(filesOf(rlsCase).map(({ text }) => text));
    const { domain, descriptors } = rlsCase;
    expect(codesOf(await ask({ domain, descriptors }))).toEqual(['OK', 'OK']);
    expect(codesOf(await ask({ domain, descriptors: descriptors.slice(0, 1) }))).toEqual(['OVER_LIMIT']);
  });
});

const SHOP = `
domain: shop
descriptors:
  - { key: user, rate_limit: { requests_per_unit: 5, unit: minute } }
  - { key: tenant, rate_limit: { requests_per_unit: 2, unit: minute } }
  - key: burst
    limits:
      - tokenBucket: { capacity: 2, refill: 1, every: 1s }
      - slidingWindow: { limit: 3, window: 1h }
  - { key: shadow, shadow_mode: true, rate_limit: { requests_per_unit: 1, unit: minute } }
`;

describe('in mode strict', () => {
  test('a request that one descriptor refuses charges none', async () => {
    const { ask } = await start([SHOP]);
    const both = { domain: 'shop', descriptors: of('user=a', 'tenant=t') };
    expect(leftOf(await ask(both))).toEqual([4, 1]);
    expect(leftOf(await ask(both))).toEqual([3, 0]);
    for (let i = 0; i < 3; i++) {
      const refused = await ask(both);
      expect(refused.overall_code).toBe('OVER_LIMIT');
      expect(codesOf(refused)).toEqual(['OK', 'OVER_LIMIT']);
      expect(leftOf(refused)).toEqual([3, 0]);
    }
    const look = { domain: 'shop', descriptors: [{ ...of('user=a')[0], hits_addend: { value: 0 } }] };
    expect(leftOf(await ask(look))).toEqual([3]);
  });

  test('a cost that was refused is not added', async () => {
    const { ask } = await start([SHOP]);
    const costing = (cost: number) => ask({ domain: 'shop', descriptors: of('user=a'), hits_addend: cost });
    expect(leftOf(await costing(4))).toEqual([1]);
    expect(codesOf(await costing(2))).toEqual(['OVER_LIMIT']);
    expect(codesOf(await costing(1))).toEqual(['OK']);
  });

  test('several limits of one descriptor all decide, and the wait is that of the one that refuses', async () => {
    const clock = new FakeClock(1_000_000);
    const { ask } = await start([SHOP], clock);
    const request = { domain: 'shop', descriptors: of('burst=a') };
    const codes: string[] = [];
    for (let i = 0; i < 3; i++) codes.push((await ask(request)).overall_code);
    expect(codes).toEqual(['OK', 'OK', 'OVER_LIMIT']);
    clock.advance(1000);
    expect((await ask(request)).overall_code).toBe('OK');
    clock.advance(5000);
    const refused = await ask(request);
    expect(refused.overall_code).toBe('OVER_LIMIT');
    expect(refused.statuses[0]?.current_limit).toMatchObject({ requests_per_unit: 3, unit: 'HOUR' });
    expect(Number(refused.statuses[0]?.duration_until_reset?.seconds)).toBeGreaterThan(3500);
  });

  test('a rule in shadow mode refuses nobody and is not charged with the others', async () => {
    const { ask } = await start([SHOP]);
    const request = { domain: 'shop', descriptors: of('shadow=a', 'user=a') };
    await ask(request);
    const second = await ask(request);
    expect([second.overall_code, ...codesOf(second)]).toEqual(['OK', 'OK', 'OK']);
    expect(leftOf(second)).toEqual([0, 3]);
  });

  test('a refund makes room again, once for each', async () => {
    const { ask } = await start([SHOP]);
    const request = { domain: 'shop', descriptors: of('tenant=t') };
    const refund = { domain: 'shop', descriptors: [{ ...of('tenant=t')[0], is_negative_hits: true }] };
    await ask(request);
    await ask(request);
    expect((await ask(request)).overall_code).toBe('OVER_LIMIT');
    expect(leftOf(await ask(refund))).toEqual([1]);
    expect((await ask(request)).overall_code).toBe('OK');
    expect((await ask(request)).overall_code).toBe('OVER_LIMIT');
  });

  test('an override of the request has a limit of its own, in its unit', async () => {
    const { ask } = await start([SHOP]);
    const [tenant] = of('tenant=t');
    const request = { domain: 'shop', descriptors: [{ ...tenant, limit: { requests_per_unit: 3, unit: 'HOUR' } }] };
    const answers = [await ask(request), await ask(request), await ask(request), await ask(request)];
    expect(answers.map(({ overall_code: code }) => code)).toEqual(['OK', 'OK', 'OK', 'OVER_LIMIT']);
    expect(answers[0]?.statuses[0]?.current_limit).toMatchObject({ requests_per_unit: 3, unit: 'HOUR' });
  });
});
