const OPERATIONS = ['consume', 'peek', 'force', 'refund', 'act', 'reset'];

/** A store of one's own: another, with the time that each of its answers took. */
export function measured(store, onAnswer) {
  const bind = (plan) => {
    const inner = store.bind(plan);
    const timed =
      (operation) =>
      async (...given) => {
        const startMs = performance.now();
        try {
          return await inner[operation](...given);
        } finally {
          onAnswer(operation, performance.now() - startMs);
        }
      };
    return Object.fromEntries(OPERATIONS.map((operation) => [operation, timed(operation)]));
  };
  return { ...store, bind };
}
