import { memoryStore, type Plan, type PolicyStore, type Store } from 'comporta';
import { AssertionError, storeSuite } from 'comporta/testing';
import { expect, test } from 'vitest';
import { until } from '../../support/wait.js';

type Full = PolicyStore & Required<Pick<PolicyStore, 'act' | 'force'>>;

/** A memory store with one fault. That it has none without is shown where the whole suite runs, in conformance. */
function faulty(fault: (right: Full, plan: Plan) => Partial<PolicyStore>): Store {
  const store = memoryStore();
  return {
    ...store,
    bind: (plan) => {
      const right = store.bind(plan) as Full;
      const rightly: PolicyStore = {
        consume: (...given) => right.consume(...given),
        peek: (...given) => right.peek(...given),
        refund: (...given) => right.refund(...given),
        act: (...given) => right.act(...given),
        reset: (...given) => right.reset(...given),
      };
      return { ...rightly, ...fault(right, plan) };
    },
  };
}

const sharedByAll = memoryStore();

const faults: readonly (readonly [string, RegExp, Parameters<typeof faulty>[0]])[] = [
  ['charges nothing', /^tokenBucket admits up to its limit/, ({ peek }) => ({ consume: peek })],
  [
    'knows one subject only',
    /^slidingWindow admits up to its limit/,
    (right) => ({ consume: (_, ...rest) => right.consume('a', ...rest) }),
  ],
  ['takes every cost for 1', /cost whole/, (right) => ({ consume: (subject) => right.consume(subject, 1) })],
  [
    'gives back twice',
    /gives a charge back once/,
    (right) => ({ refund: (charge) => right.refund({ ...charge, decisionId: `${Math.random()}` }) }),
  ],
  [
    'takes all parts of a subject for one',
    /^tokenBucket counts each part of a split subject/,
    (_, plan) => {
      const { split: __, ...whole } = plan;
      const parts = sharedByAll.bind(whole);
      return { consume: (...given) => parts.consume(...given), peek: (...given) => parts.peek(...given) };
    },
  ],
  ['gives nothing back', /gives a charge back once/, () => ({ refund: () => 0 })],
  [
    'decides, and charges later',
    /exactly its limit of requests made at once/,
    (right) => ({
      consume: async (subject, cost, ...rest) => {
        const reply = await right.peek(subject, cost, ...rest);
        await Promise.resolve();
        await right.force(subject, [cost]);
        return reply;
      },
    }),
  ],
  [
    'charges for looks',
    /^a look changes nothing/,
    (right) => ({ peek: (subject, cost) => right.consume(subject, Math.max(1, cost)) }),
  ],
  [
    'charges for refusals',
    /^several limits are charged all or none/,
    (right, { limits }) => ({
      consume: async (subject, cost) => {
        const reply = await right.consume(subject, cost);
        if (reply.numbers.some((n, i) => i % 4 === 1 && n > 0))
          await right.force(
            subject,
            limits.map(() => 1),
          );
        return reply;
      },
    }),
  ],
  [
    'names half the wait',
    /^the wait that a refusal names/,
    (right) => ({
      consume: async (subject, cost) => {
        const reply = await right.consume(subject, cost);
        return { ...reply, numbers: reply.numbers.map((n, i) => (i % 4 === 1 ? Math.floor(n / 2) : n)) };
      },
    }),
  ],
  ['forgets nothing', /a reset tells/, () => ({ reset: () => 3 })],
  ['trims', /^hostile subjects/, (right) => ({ consume: (text, cost) => right.consume(text.trim() || 'x', cost) })],
  [
    'ignores case',
    /^hostile subjects/,
    (right) => ({ consume: (text, cost) => right.consume(text.toLowerCase(), cost) }),
  ],
  ['cuts', /^hostile subjects/, (right) => ({ consume: (text, cost) => right.consume(text.slice(0, 128), cost) })],
  [
    'joins with colons',
    /random subjects/,
    (right) => ({ consume: (text, cost) => right.consume(text.replaceAll(':', '%3A').replaceAll('%', ''), cost) }),
  ],
  [
    'settles twice',
    /real cost in place/,
    (right) => ({ act: (action) => right.act('id' in action ? { ...action, id: action.id.slice(0, 1) } : action) }),
  ],
  [
    'blocks nobody',
    /^a subject is blocked by hand/,
    (right) => ({ act: (action) => right.act(action.kind === 'block' ? { ...action, cost: 0 } : action) }),
  ],
  [
    'gives places to everybody',
    /^at most so many hold a place/,
    (right) => ({ consume: (subject, cost, waiter, terms) => right.consume(subject, cost, waiter, terms, 'same') }),
  ],
];

test.each(faults)('the suite notices a store that %s', async (_, name, fault) => {
  const found = storeSuite.find((one) => name.test(one.name));
  // A busy machine may sleep away what a wait lacks: that fault is seen the next time.
  const isNoticed = () =>
    found?.run(faulty(fault)).then(
      () => false,
      (error) => error instanceof AssertionError,
    );
  expect(await until(isNoticed)).toBe(true);
});

test('the names of the suite are unique, and say their part', () => {
  const names = storeSuite.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  expect(new Set(storeSuite.map(({ part }) => part))).toEqual(new Set(['decisions', 'subjects', 'actions']));
});
