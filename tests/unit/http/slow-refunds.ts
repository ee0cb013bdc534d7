import { memoryStore, type Store } from 'comporta';

/** A store that decides at once and takes its time to give back, with how many refunds are under way. */
export function slowRefunds(delayMs = 10): { readonly store: Store; pending(): number } {
  const memory = memoryStore();
  let pending = 0;
  const store: Store = {
    ...memory,
    bind: (plan) => {
      const inner = memory.bind(plan);
      return {
        consume: (subject, cost) => inner.consume(subject, cost),
        peek: (subject, cost) => inner.peek(subject, cost),
        reset: (subject) => inner.reset(subject),
        refund: async (charge) => {
          pending++;
          await new Promise((resolve) => setTimeout(resolve, delayMs));
          const given = await inner.refund(charge);
          pending--;
          return given;
        },
      };
    },
  };
  return { store, pending: () => pending };
}
