import { concurrency, fixedWindow } from 'comporta';
import type { Outcome } from 'comporta/http';
import { RateLimitRefusal } from 'comporta/http';
import { type ActionCall, type ActionOptions, ActionRefusedError, limitAction, refusalOf } from 'comporta/next';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { limitCalls } from '../../../packages/comporta/src/doors/next/action.js';

const limits = fixedWindow({ limit: 2, window: '1d', align: 'first-hit' });

/** As `limitAction`, which asks Next for the header fields: it has them while it answers a request only. */
function limitedAction<Args extends readonly unknown[], Result, Denied = never>(
  action: (...args: Args) => Result | Promise<Result>,
  options: ActionOptions<Args, Denied>,
  address = () => '203.0.113.9',
) {
  return limitCalls(action, options, async () => new Headers({ 'x-real-ip': address() }));
}

describe('a server action', () => {
  const platform = { limits, clientAddress: 'vercel' } as const;

  test('keeps its type and its arguments, and throws when refused', async () => {
    let address = '203.0.113.9';
    const add = limitedAction(
      async (a: number, b: number) => a + b,
      platform,
      () => address,
    );
    expectTypeOf(limitAction(async (a: number, b: number) => a + b, platform)).toEqualTypeOf<typeof add>();
    expectTypeOf(add).parameters.toEqualTypeOf<[a: number, b: number]>();
    expectTypeOf(add).returns.toEqualTypeOf<Promise<number>>();
    expect([await add(1, 2), await add(3, 4)]).toEqual([3, 7]);
    const error: unknown = await add(5, 6).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(ActionRefusedError);
    expect(error).toMatchObject({ name: 'ActionRefusedError', status: 429, retryAfterSeconds: 86_400 });
    expect((error as Error).message).toBe('default allows 2 requests per day. Try again in 1 day.');
    address = '203.0.113.10';
    expect(await add(5, 6)).toBe(11);
  });

  test('returns what onDenied makes of a refusal and the arguments', async () => {
    const add = limitedAction(async (a: number) => a + 1, {
      ...platform,
      onDenied: async ({ status }, a) => `${status} for ${a}`,
    });
    expectTypeOf(add).returns.toEqualTypeOf<Promise<number | string>>();
    expect([await add(1), await add(2), await add(3)]).toEqual([2, 3, '429 for 3']);
  });

  test('is counted by its arguments where a key function says so', async () => {
    const find = limitedAction(async (name: string) => name, {
      limits,
      key: ({ request }) => {
        expectTypeOf(request).toEqualTypeOf<ActionCall<[name: string]>>();
        return request.args[0];
      },
      onDenied: () => undefined,
    });
    expect([await find('a'), await find('a'), await find('a'), await find('b')]).toEqual(['a', 'a', undefined, 'b']);
  });

  test.each<[string, number, string | undefined]>([
    ['a result', 200, undefined],
    ['redirect()', 303, 'NEXT_REDIRECT;push;/a;303;'],
    ['forbidden()', 403, 'NEXT_HTTP_ERROR_FALLBACK;403'],
    ['a fault', 500, 'NEXT_STATIC_GEN_BAILOUT'],
  ])('that ends with %s is settled once with status %i', async (_, status, digest) => {
    const outcomes: Outcome[] = [];
    const fault = Object.assign(new Error('thrown'), { digest });
    const act = limitedAction(() => (digest === undefined ? 'done' : Promise.reject(fault)), {
      ...platform,
      count: ({ cost, ...outcome }) => {
        outcomes.push(outcome);
        return cost;
      },
    });
    expect(await act().catch((thrown) => thrown)).toBe(digest === undefined ? 'done' : fault);
    expect(outcomes).toEqual([{ status, aborted: false }]);
  });

  test('holds a place of a concurrency limit while it runs', async () => {
    let goOn = (): void => undefined;
    const running = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const act = limitedAction(() => running, {
      ...platform,
      limits: concurrency({ limit: 1 }),
      onDenied: () => 'busy',
    });
    const first = act();
    expect(await act()).toBe('busy');
    goOn();
    await first;
    expect(await act()).toBeUndefined();
  });

  test('refuses what cannot be meant, when it is made', () => {
    const make = (options: object, action: unknown = async () => 1) => limitAction(action as () => 1, options as never);
    expect(() => make({ limits, match: { path: '/a' } })).toThrow(/^match: a server action has no path/);
    expect(() => make({ policies: [{ name: 'a', limits, match: {} }] })).toThrow(/^match: /);
    expect(() => make({ limits, onDenied: 'no' })).toThrow(/^onDenied: expected a function/);
    expect(() => make({ limits }, 'action')).toThrow(/^action: expected an async function/);
    expect(() => make({})).toThrow(expect.objectContaining({ name: 'ComportaError' }));
  });
});

describe('refusalOf', () => {
  test('tells a refusal by its digest, as browsers get it, and nothing else', () => {
    const headers = [['retry-after', '17']] as const;
    const verdict = { allowed: false, decisions: [], shadowed: [], deniedBy: [] };
    const refused = new ActionRefusedError({ ...verdict, status: 429, headers, body: '{"detail":"no more"}' });
    expect(refused).toBeInstanceOf(RateLimitRefusal);
    const inBrowser = Object.assign(new Error('An error occurred'), { digest: refused.digest });
    expect(refusalOf(inBrowser)).toEqual({ status: 429, retryAfterSeconds: 17 });
    const closed = new ActionRefusedError({ ...verdict, status: 403, headers: [], body: '{"detail":"not accepted"}' });
    expect(refusalOf(closed)).toEqual({ status: 403, retryAfterSeconds: undefined });
    for (const other of [undefined, null, 'text', new Error('a'), { digest: 7 }, { digest: 'COMPORTA_REFUSED;x;1' }]) {
      expect(refusalOf(other)).toBeUndefined();
    }
  });
});
