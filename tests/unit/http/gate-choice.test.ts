import { fixedWindow, memoryStore } from 'comporta';
import { createGate, NodeView } from 'comporta/http';
import { describe, expect, test } from 'vitest';

const limits = fixedWindow({ limit: 1, window: '1d' });

const view = (headers: Record<string, string> = {}, url = '/') =>
  new NodeView(
    { method: 'GET', url, headers, socket: { remoteAddress: '2001:db8:1:2::9' } },
    undefined,
    url,
    undefined,
  );

test('a check may be left to some of the policies: the others neither decide nor are charged', async () => {
  const policies = ['a', 'b'].map((name) => ({ name, limits, key: 'ip' }));
  const gate = createGate({ policies, store: memoryStore() });
  const asked = async (only?: ReadonlySet<string>) => {
    const { allowed, decisions } = await gate.check(view(), undefined, undefined, only);
    return [allowed, decisions.map(({ policy }) => policy)];
  };
  expect(await asked(new Set(['a']))).toEqual([true, ['a']]);
  expect(await asked(new Set(['a']))).toEqual([false, ['a']]);
  expect(await asked(new Set(['b']))).toEqual([true, ['b']]);
  expect(await asked(new Set())).toEqual([true, []]);
  expect(await asked()).toEqual([false, ['a', 'b']]);
  await gate.close();
});

describe('the subject of values', () => {
  const keys = {
    address: 'ip',
    header: 'header:X-Key',
    pair: ['ip', 'query:q'],
    everybody: 'global',
    computed: ({ request }: { request: unknown }) => request,
  } as const;
  const policies = Object.entries(keys).map(([name, key]) => ({ name, key, limits }));
  const gate = createGate({ policies, store: memoryStore() });

  test.each([
    ['address', ['2001:db8:1:2::9'], {}, '/'],
    ['header', ['k,1'], { 'x-key': 'k,1' }, '/'],
    ['pair', ['2001:db8:1:2:ffff::1', 'a,b%'], {}, '/?q=a,b%25'],
    ['everybody', [], {}, '/'],
  ])('of policy %s is that of a request which has them', async (name, values, headers, url) => {
    const { decisions } = await gate.check(view(headers, url), undefined, undefined, new Set([name]));
    expect(gate.subjectOf(name, values)).toBe(decisions[0]?.subject);
  });

  test.each([
    ['address', []],
    ['address', ['nowhere']],
    ['address', ['192.0.2.1', 'more']],
    ['pair', ['192.0.2.1']],
    ['pair', ['192.0.2.1', '']],
    ['everybody', ['x']],
    ['computed', []],
    ['unknown', ['x']],
  ])('there is none of policy %s for %j', (name, values) => {
    expect(gate.subjectOf(name, values)).toBeUndefined();
  });

  test('that a function names is as the function names it', () => {
    expect(gate.subjectOf('computed', ['x'])).toBe('key=x');
  });
});
