import { Controller, type ExecutionContext, Get } from '@nestjs/common';
import { memoryStore, slidingWindow } from 'comporta';
import { type NestOptions, RateLimit, RateLimitGuard } from 'comporta/nest';
import { faultyStore } from 'comporta/testing';
import { expect, test } from 'vitest';
import { decorate } from './nest-app.js';
import { ManualClock } from './stores.js';

const limitOf = (limit: number) => slidingWindow({ limit, window: '10s' });

interface Handlers {
  new (): { list(): string };
}

/** A controller named Items, as another file would have one too. */
function itemsAt(path: string | undefined, limit: number, options: object = {}): Handlers {
  class Items {
    list(): string {
      return 'items';
    }
  }
  decorate(Items, 'list', [Get('/'), RateLimit({ limits: limitOf(limit), ...options })]);
  if (path !== undefined) Controller(path)(Items);
  return Items;
}

function guardOf(options: Partial<NestOptions>) {
  const errors: string[] = [];
  const names: string[] = [];
  const guard = new RateLimitGuard({
    ...('policies' in options ? {} : { limits: limitOf(3) }),
    onError: ({ message }: { readonly message: string }) => void errors.push(message),
    onVerdict: ({ decisions }) => void names.push(decisions[0]?.policy ?? ''),
    ...options,
  } as NestOptions);
  const request = { headers: {}, socket: { remoteAddress: '1.2.3.4' }, url: '/' };
  const ask = async (of: Handlers): Promise<boolean> => {
    const context = {
      getType: () => 'http',
      getArgs: () => [request, {}],
      getHandler: () => of.prototype.list,
      getClass: () => of,
    } as unknown as ExecutionContext;
    return Promise.resolve(guard.canActivate(context)).catch(() => false);
  };
  return { ask, errors, names };
}

test('on a shared store handlers of one name in two services are counted apart, each in its guard’s name', async () => {
  const store = faultyStore();
  const billing = guardOf({ name: 'billing', store });
  const shop = guardOf({ name: 'shop', store });
  const [one, other] = [itemsAt('billing', 1), itemsAt('shop', 1)];
  expect([await billing.ask(one), await billing.ask(one), await shop.ask(other)]).toEqual([true, false, true]);
  expect([billing.names[0], shop.names[0]]).toEqual([
    expect.stringMatching(/^billing\.Items\.list/),
    expect.stringMatching(/^shop\.Items\.list/),
  ]);
  expect([...billing.errors, ...shop.errors]).toEqual([]);
});

test('two classes of one name are counted apart, by names that every process makes alike', async () => {
  const namesOf = async () => {
    const { ask, names, errors } = guardOf({ name: 'api', store: memoryStore({ clock: new ManualClock() }) });
    const [v1, v2] = [itemsAt('v1', 1), itemsAt('v2', 2)];
    expect([await ask(v1), await ask(v2), await ask(v1), await ask(v2)]).toEqual([true, true, false, true]);
    expect(errors).toEqual([]);
    return names.slice(0, 2);
  };
  const [first, second] = await namesOf();
  expect([first, second]).toEqual([
    expect.stringMatching(/^api\.Items\.list-[0-9a-f]{8}$/),
    expect.stringMatching(/^api\.Items\.list-[0-9a-f]{8}$/),
  ]);
  expect(first).not.toBe(second);
  expect(await namesOf()).toEqual([first, second]);
});

test('where nothing tells two handlers apart the second has the limits of the guard, and that is said', async () => {
  const { ask, errors, names } = guardOf({ name: 'api', store: memoryStore({ clock: new ManualClock() }) });
  const [one, other] = [itemsAt(undefined, 1), itemsAt(undefined, 1)];
  expect([await ask(one), await ask(other), await ask(other)]).toEqual([true, true, true]);
  expect(names.slice(1)).toEqual(['api', 'api']);
  expect(errors).toEqual([expect.stringMatching(/^name: missing in RateLimit of Items\.list; another class has/)]);
  const named = itemsAt(undefined, 1, { name: 'other-items' });
  expect([await ask(named), await ask(named)]).toEqual([true, false]);
});

test('on a shared store a guard of several policies has no name to give: the handler needs one', async () => {
  const policies = [{ name: 'wide', limits: limitOf(2) }];
  const { ask, errors, names } = guardOf({ policies, store: faultyStore() } as never);
  const [one, named] = [itemsAt('a', 1), itemsAt('b', 1, { name: 'b' })];
  expect([await ask(one), await ask(one), await ask(one)]).toEqual([true, true, false]);
  expect([await ask(named), await ask(named)]).toEqual([true, false]);
  expect(names).toEqual(['wide', 'wide', 'wide', 'b', 'b']);
  expect(errors).toEqual([expect.stringMatching(/^name: missing in RateLimit of Items\.list; on a shared store/)]);
});

test('names that are long or have other letters fit, and stay apart', async () => {
  const { ask, names, errors } = guardOf({ name: 'x'.repeat(60), store: memoryStore() });
  class Größe {
    list(): string {
      return '';
    }
  }
  class Grüße {
    list(): string {
      return '';
    }
  }
  for (const type of [Größe, Grüße]) decorate(type, 'list', [Get('/'), RateLimit({ limits: limitOf(1) })]);
  expect([await ask(Größe), await ask(Grüße), await ask(Größe)]).toEqual([true, true, false]);
  expect(names.map((name) => name.length)).toEqual([64, 64, 64]);
  expect(errors).toEqual([]);
});
