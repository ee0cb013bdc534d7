import { createLimiter, type Limit, type Limiter, type LimiterOptions } from 'comporta';
import { JudgedLimiter } from './judged.js';
import { nameOf } from './names.js';
import { type Part, WHOLE } from './part.js';

/** Settings that all limiters of a service share. */
export type LimiterSettings = Omit<LimiterOptions, 'policy' | 'limits'>;

/** Called with a limiter once it is there, to listen to it until what it answers is called. */
export type OnLimiter = (limiter: Limiter) => () => void;

/** The limiters of one service: made as they are needed, closed together. */
export class Limiters {
  readonly #settings: LimiterSettings;
  readonly #onMade: OnLimiter;
  /** With what ends listening to each. */
  readonly #open: Map<Limiter, () => void> = new Map();

  constructor(settings: LimiterSettings, onMade: OnLimiter) {
    this.#settings = settings;
    this.#onMade = onMade;
  }

  make(domain: string, limits: Limit | readonly Limit[]): Limiter {
    const limiter = this.#create(domain, limits);
    this.#open.set(limiter, this.#onMade(limiter));
    return limiter;
  }

  /** One that only counts, for rules that judge by its counts. */
  makeJudged(domain: string, limits: Limit): JudgedLimiter {
    const limiter = this.#create(domain, limits);
    const judged = new JudgedLimiter(limiter, this.#settings.store?.kind ?? 'memory');
    this.#open.set(limiter, this.#onMade(judged.seen));
    return judged;
  }

  #create(domain: string, limits: Limit | readonly Limit[]): Limiter {
    return createLimiter({ ...this.#settings, policy: nameOf(domain), limits });
  }

  /** The part of its limits that this process enforces while the store is away, as far as known. */
  partOf({ policy, limits }: Limiter): () => Part {
    const { instances = 'auto', store } = this.#settings;
    if (instances !== 'auto') return () => ({ processes: instances, rank: instances });
    const bound = store?.bind({ policy, limits });
    return () => bound?.part?.() ?? WHOLE;
  }

  /** Closes one that is not needed any more; what it decides at the moment it still decides. */
  drop(limiter: Limiter): void {
    this.#open.get(limiter)?.();
    this.#open.delete(limiter);
    void limiter.close();
  }

  async close(): Promise<void> {
    const open = [...this.#open];
    this.#open.clear();
    for (const [, stop] of open) stop();
    await Promise.all(open.map(([limiter]) => limiter.close()));
  }
}
