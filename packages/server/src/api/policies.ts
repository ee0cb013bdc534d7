import type { Check, Limiter } from 'comporta';
import type { Gate } from 'comporta/http';
import type { ServerConfig } from '../config/config.js';
import { nearest } from '../config/nearest.js';
import { formatPath, type Path } from '../config/problem.js';
import type { Engine } from '../engine/engine.js';
import { Refusal } from './problem.js';

/** What a caller asks for, as `check` of `fields.ts` let it through. */
export interface Asked {
  readonly policy: string;
  readonly subject: string | readonly string[];
  readonly cost?: number | undefined;
  readonly plan?: string | undefined;
}

type Settings = ServerConfig['gate']['policies'][number];

/** The policies in force during one call, by the names that callers use. */
export class Policies {
  readonly gate: Gate | undefined;
  readonly #settings: readonly Settings[];

  constructor({ rules, config }: Engine) {
    this.gate = rules.gate as Gate | undefined;
    this.#settings = config.gate.policies;
  }

  /** Throws a {@link Refusal} that names the nearest when there is no such policy. */
  limiter(name: string, path: Path): Limiter {
    return this.gate?.limiters.get(name) ?? unknown('policy', name, [...(this.gate?.limiters.keys() ?? [])], 404, path);
  }

  /** A question with everything that the caller left to the policy. */
  check({ policy, subject, cost, plan }: Asked, at: Path = []): Check & { readonly cost: number } {
    const limiter = this.limiter(policy, [...at, 'policy']);
    const settings = this.#settings.find(({ name }) => name === policy);
    const plans = Object.keys(settings?.plans ?? {});
    if (plan !== undefined && !plans.includes(plan)) unknown('plan', plan, plans, 400, [...at, 'plan']);
    const own = typeof settings?.cost === 'number' ? settings.cost : 1;
    return {
      limiter,
      subject: typeof subject === 'string' ? subject : this.#subjectOf(policy, settings, subject, [...at, 'subject']),
      cost: cost ?? own,
      ...(plan !== undefined && { plan }),
    };
  }

  #subjectOf(policy: string, settings: Settings | undefined, values: readonly string[], path: Path): string {
    const subject = this.gate?.subjectOf(policy, values);
    if (subject !== undefined) return subject;
    const key = [settings?.key ?? 'ip'].flat().join(', ');
    const field = formatPath(path);
    const expected =
      key === 'global'
        ? 'expected [], or the text "global": the policy\'s key is global, which has no values'
        : `expected the values of the policy's key: ${key}`;
    throw new Refusal(400, `${field}: ${expected}`, { field });
  }
}

function unknown(what: string, name: string, known: readonly string[], status: number, path: Path): never {
  const guess = nearest(name, known);
  const field = formatPath(path);
  const hint = guess === undefined ? '' : `; did you mean ${JSON.stringify(guess)}?`;
  throw new Refusal(status, `${field}: there is no ${what} ${JSON.stringify(name)}${hint}`, { field });
}

/** Runs a call under the rules in force, which stay open until it is over whatever is put in force meanwhile. */
export async function underRules<T>(engine: Engine, run: (policies: Policies) => T | Promise<T>): Promise<T> {
  const { rules } = engine;
  rules.enter();
  try {
    return await run(new Policies(engine));
  } finally {
    rules.leave();
  }
}
