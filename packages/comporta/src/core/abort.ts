/** Who waits for a signal, and the one listener that tells them all. */
interface Waiting {
  readonly runs: Set<() => void>;
  readonly listener: () => void;
}

const waiting: WeakMap<AbortSignal, Waiting> = new WeakMap();

/**
 * Calls `run` when a signal aborts, unless the returned function is called first. One listener per
 * signal, however many wait: runtimes warn of a leak when a signal shared by many calls has many.
 */
export function onAbort(signal: AbortSignal, run: () => void): () => void {
  const { runs, listener } = waiting.get(signal) ?? listen(signal);
  runs.add(run);
  return () => {
    runs.delete(run);
    if (runs.size > 0) return;
    signal.removeEventListener('abort', listener);
    waiting.delete(signal);
  };
}

function listen(signal: AbortSignal): Waiting {
  const runs = new Set<() => void>();
  const listener = () => {
    for (const run of [...runs]) run();
  };
  signal.addEventListener('abort', listener, { once: true });
  const made = { runs, listener };
  waiting.set(signal, made);
  return made;
}
