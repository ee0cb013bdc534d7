import type { Decision } from '../core/decision.js';
import { ComportaError, isComportaError } from '../core/errors.js';
import { messageOf } from '../identity/subject.js';
import type { RequestView } from '../identity/view.js';
import type { CallOptions, Limiter } from '../limiter/limiter.js';
import { compilePolicies } from '../policies/compile.js';
import { Target } from '../policies/match.js';
import { memoryStore } from '../stores/memory.js';
import type { MaybePromise, Store } from '../stores/store.js';
import { type Ask, chain, decideEach } from './ask.js';
import { clientNameOf } from './client.js';
import type { Gate, GateOptions, Verdict } from './gate.js';
import { createHeaderWriter, type HeaderWriter } from './headers.js';
import { createReport, type Report } from './report.js';
import { checkItemNames, createRule, type Rule } from './rule.js';
import { ALLOWED, UNAVAILABLE, verdictOf } from './verdict.js';

/** A policy that applies to a request, with what to ask its limiter. */
interface Met<Request> extends Ask {
  readonly rule: Rule<Request>;
}

/** The one implementation of {@link Gate}. */
export class PolicyGate<Request> implements Gate<Request> {
  readonly limiters: ReadonlyMap<string, Limiter>;
  readonly #rules: readonly Rule<Request>[];
  readonly #write: HeaderWriter;
  readonly #report: Report;
  readonly #options: GateOptions<Request>;
  readonly #ownStore: Store | undefined;

  constructor(options: GateOptions<Request>) {
    const report = createReport(options.onError);
    const compiled = compilePolicies(options.policies, { report, clientIp: clientNameOf(options, report) });
    this.#write = createHeaderWriter(options.headers);
    this.#ownStore = options.store === undefined ? memoryStore() : undefined;
    const store = options.store ?? (this.#ownStore as Store);
    this.#rules = compiled.map((policy) => createRule(policy, store, options));
    checkItemNames(this.#rules);
    this.#report = report;
    this.#options = options;
    this.limiters = new Map(this.#rules.map(({ limiter }) => [limiter.policy, limiter]));
  }

  check(view: RequestView<Request>, signal?: AbortSignal, cost?: number): MaybePromise<Verdict> {
    try {
      if (this.#options.countPreflight !== true && isPreflight(view)) return this.#tell(ALLOWED, view);
      const verdict = this.#decide(view, signal, cost);
      if (!(verdict instanceof Promise)) return this.#tell(verdict, view);
      return verdict.catch((error: unknown) => this.#fault(error)).then((settled) => this.#tell(settled, view));
    } catch (error) {
      return this.#tell(this.#fault(error), view);
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#rules.map(({ limiter }) => limiter.close()));
    await this.#ownStore?.close();
  }

  #decide(
    view: RequestView<Request>,
    signal: AbortSignal | undefined,
    cost: number | undefined,
  ): MaybePromise<Verdict> {
    const asks = this.#asksOf(view, cost);
    if (asks.length === 0) return ALLOWED;
    const options: CallOptions = signal === undefined ? {} : { signal };
    return chain(decideEach(asks, options), (decisions) => this.#conclude(asks, decisions));
  }

  #asksOf(view: RequestView<Request>, given: number | undefined): readonly Met<Request>[] {
    const target = new Target(view);
    const asks: Met<Request>[] = [];
    for (const rule of this.#rules) {
      const params = rule.match(target);
      if (params === undefined) continue;
      const { limiter, shadow } = rule;
      asks.push({ rule, limiter, shadow, subject: rule.subjectOf(view, params), cost: rule.costOf(view, given) });
    }
    return asks;
  }

  #conclude(asks: readonly Met<Request>[], decisions: readonly Decision[]): Verdict {
    const answers = asks.map(({ rule }, i) => ({ fields: rule.fields, decision: decisions[i] as Decision }));
    const enforced = answers.filter((_, i) => asks[i]?.shadow === false);
    return verdictOf(enforced, decisions, this.#write(enforced));
  }

  /** A gate that is closed, or broken: what the policies ask for when nobody can count. */
  #fault(error: unknown): Verdict {
    this.#report(
      isComportaError(error)
        ? error
        : new ComportaError('ERR_OPTION', `request: could not be decided: ${messageOf(error)}`),
    );
    const modes = this.#rules.map(({ policy }) => policy.onStoreFailure ?? this.#options.onStoreFailure);
    return modes.includes('closed') ? UNAVAILABLE : ALLOWED;
  }

  #tell(verdict: Verdict, view: RequestView<Request>): Verdict {
    const { onVerdict } = this.#options;
    try {
      onVerdict?.(verdict, view);
    } catch (error) {
      this.#report(new ComportaError('ERR_OPTION', `onVerdict: the function failed: ${messageOf(error)}`, 'onVerdict'));
    }
    return verdict;
  }
}

function isPreflight(view: RequestView): boolean {
  return (
    view.method === 'OPTIONS' &&
    view.header('origin').length > 0 &&
    view.header('access-control-request-method').length > 0
  );
}
