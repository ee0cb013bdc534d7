import type { Decision } from '../core/decision.js';
import { ComportaError, isComportaError } from '../core/errors.js';
import { unawaited } from '../core/unawaited.js';
import { messageOf } from '../identity/subject.js';
import type { RequestView } from '../identity/view.js';
import type { CallOptions, Limiter } from '../limiter/limiter.js';
import { compileAccess, type IsListed } from '../policies/access.js';
import { compilePolicies } from '../policies/compile.js';
import { Target } from '../policies/match.js';
import { memoryStore } from '../stores/memory.js';
import type { MaybePromise, Store } from '../stores/store.js';
import { decideEach } from './ask.js';
import { createReportedClientOf } from './client.js';
import { Finishing } from './finish.js';
import type { Gate, GateOptions, Verdict } from './gate.js';
import { checkInstances, usesInstances } from './gate-options.js';
import { afterRefusal } from './given-back.js';
import { type Answer, createHeaderWriter, type HeaderWriter } from './headers.js';
import { createReport, type Report } from './report.js';
import { checkItemNames, createRule, type Rule } from './rule.js';
import { subjectOfParts } from './subject-parts.js';
import { type Met, NO_TASKS, tasksOf } from './tasks.js';
import { ALLOWED, forbidden, UNAVAILABLE, verdictOf } from './verdict.js';

/** The policies that a request met. */
interface Meeting<Request> {
  readonly asks: readonly Met<Request>[];
  /** Policies whose `deny` names it, and whether one of them is enforced. */
  readonly deniedBy: readonly string[];
  readonly isDenied: boolean;
}

const NOBODY: readonly string[] = [];
// Lists that nearly always hold one entry are made so: one that grows takes room for sixteen.
const NONE: readonly Decision[] = [];
const NO_ASKS: readonly Met<never>[] = [];
const NO_ANSWERS: readonly Answer[] = [];
const NO_OPTIONS: CallOptions = {};
/** Stands for the gate's own `deny`: no policy can have this name. */
const GATE = ['*'];

/** The one implementation of {@link Gate}. */
export class PolicyGate<Request> implements Gate<Request> {
  readonly limiters: ReadonlyMap<string, Limiter>;
  readonly #rules: readonly Rule<Request>[];
  readonly #write: HeaderWriter;
  readonly #report: Report;
  readonly #finishing: Finishing;
  readonly #inBackground = (work: Promise<unknown>): void => this.#finishing.add(work);
  readonly #isAllowed: IsListed<Request> | undefined;
  readonly #isDenied: IsListed<Request> | undefined;
  readonly #options: GateOptions<Request>;
  readonly #ownStore: Store | undefined;

  constructor(options: GateOptions<Request>) {
    const report = createReport(options.onError);
    const { ipv6Prefix } = options;
    const context = { report, clientOf: createReportedClientOf(options, report), ipv6Prefix };
    const compiled = compilePolicies(options.policies, context);
    this.#isAllowed = compileAccess(options.allow, 'allow', undefined, context);
    this.#isDenied = compileAccess(options.deny, 'deny', undefined, context);
    this.#finishing = new Finishing(report);
    this.#write = createHeaderWriter(options.headers);
    this.#ownStore = options.store === undefined ? memoryStore() : undefined;
    const store = options.store ?? (this.#ownStore as Store);
    checkInstances(
      options.instances,
      compiled.map(({ policy }) => usesInstances(policy.onStoreFailure ?? options.onStoreFailure, policy)),
    );
    this.#rules = compiled.map((policy) => createRule(policy, store, options));
    checkItemNames(this.#rules);
    this.#report = report;
    this.#options = options;
    this.limiters = new Map(this.#rules.map(({ limiter }) => [limiter.policy, limiter]));
  }

  check(
    view: RequestView<Request>,
    signal?: AbortSignal,
    cost?: number,
    only?: ReadonlySet<string>,
  ): MaybePromise<Verdict> {
    try {
      const verdict = this.#decide(view, signal, cost, only);
      if (!(verdict instanceof Promise)) return this.#tell(verdict, view);
      return verdict.catch((error: unknown) => this.#fault(error)).then((settled) => this.#tell(settled, view));
    } catch (error) {
      return this.#tell(this.#fault(error), view);
    }
  }

  subjectOf(policy: string, values: readonly string[]): string | undefined {
    const rule = this.#rules.find(({ limiter }) => limiter.policy === policy);
    return rule && subjectOfParts(rule.policy.key ?? 'ip', values, this.#options.ipv6Prefix);
  }

  settled(): Promise<void> {
    return this.#finishing.settled();
  }

  async close(): Promise<void> {
    await this.settled();
    await Promise.all(this.#rules.map(({ limiter }) => limiter.close()));
    await this.#ownStore?.close();
  }

  #decide(
    view: RequestView<Request>,
    signal: AbortSignal | undefined,
    cost: number | undefined,
    only: ReadonlySet<string> | undefined,
  ): MaybePromise<Verdict> {
    if (this.#isDenied?.(view, '') === true) return forbidden(GATE);
    if (this.#options.countPreflight !== true && isPreflight(view)) return ALLOWED;
    if (this.#isAllowed?.(view, '') === true) return ALLOWED;
    const meeting = this.#meet(view, cost, only);
    const { asks, isDenied, deniedBy } = meeting;
    if (isDenied) return forbidden(deniedBy);
    if (asks.length === 0) return deniedBy === NOBODY ? ALLOWED : { ...ALLOWED, deniedBy };
    const decisions = decideEach(asks, signal === undefined ? NO_OPTIONS : { signal }, this.#inBackground);
    if (!(decisions instanceof Promise)) return this.#conclude(view, meeting, decisions);
    return decisions.then((settled) => this.#conclude(view, meeting, settled));
  }

  #meet(
    view: RequestView<Request>,
    given: number | undefined,
    only: ReadonlySet<string> | undefined,
  ): Meeting<Request> {
    const target = new Target(view);
    let asks = NO_ASKS as readonly Met<Request>[];
    let deniedBy = NOBODY;
    let isDenied = false;
    for (const rule of this.#rules) {
      if (only?.has(rule.limiter.policy) === false) continue;
      const params = rule.match(target);
      if (params === undefined) continue;
      const { limiter } = rule;
      const subject = rule.subjectOf(view, params);
      const shadow = rule.isShadowed(subject);
      if (rule.isDenied?.(view, subject) === true) {
        deniedBy = [...deniedBy, limiter.policy];
        isDenied ||= !shadow;
      } else if (rule.isAllowed?.(view, subject) !== true) {
        const plan = rule.planOf?.(view, params);
        const ask = { rule, limiter, shadow, subject, cost: rule.costOf(view, given), plan };
        asks = asks.length === 0 ? [ask] : [...asks, ask];
      }
    }
    return { asks, deniedBy, isDenied };
  }

  #conclude(view: RequestView<Request>, { asks, deniedBy }: Meeting<Request>, decisions: readonly Decision[]): Verdict {
    let enforced: readonly Answer[] = NO_ANSWERS;
    let shadowed = NONE;
    for (let i = 0; i < asks.length; i++) {
      const { rule, plan, shadow } = asks[i] as Met<Request>;
      const decision = decisions[i] as Decision;
      if (shadow) {
        shadowed = [...shadowed, decision];
      } else {
        const answer = { fields: rule.fields.of(plan, decision), decision };
        enforced = enforced.length === 0 ? [answer] : [...enforced, answer];
      }
    }
    const verdict = verdictOf(enforced, this.#write(afterRefusal(enforced)), decisions, shadowed, deniedBy);
    const tasks = verdict.allowed ? tasksOf(view, asks, decisions) : NO_TASKS;
    return tasks.length === 0 ? verdict : { ...verdict, finish: this.#finishing.once(tasks) };
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
      unawaited(onVerdict?.(verdict, view));
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
