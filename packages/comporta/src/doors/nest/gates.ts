import { ComportaError, isComportaError } from '../../core/errors.js';
import { derivedName } from '../../http/derived-name.js';
import type { Gate, GateOptions, Verdict } from '../../http/gate.js';
import { isGateOption } from '../../http/gate-options.js';
import { type Mounted, mount, type RateLimitOptions } from '../../http/mount.js';
import { createReport, type Report } from '../../http/report.js';
import type { RequestView } from '../../http/view.js';
import { writeFields } from '../../http/write-fields.js';
import { messageOf } from '../../identity/subject.js';
import type { MaybePromise, Store } from '../../stores/store.js';
import { callOf, type NestContext } from './call.js';
import { type ExceptionClasses, exceptionOf } from './exception.js';
import { type HandlerRule, type PolicyRule, ruleOf } from './rules.js';

/** The gate of a guard, and those of the handlers that have policies of their own. */
export class HandlerGates<Context extends NestContext> {
  readonly gate: Gate<Context>;
  readonly #mounted: Mounted<Context>;
  readonly #own: Map<object, Mounted<Context>> = new Map();
  readonly #names: Set<string> = new Set();
  readonly #options: RateLimitOptions<Context>;
  readonly #classes: ExceptionClasses;
  readonly #report: Report;

  constructor(options: RateLimitOptions<Context>, classes: ExceptionClasses) {
    this.#classes = classes;
    this.#mounted = mount(options);
    this.gate = this.#mounted.gate;
    this.#options = options;
    this.#report = createReport(options.onError);
  }

  /** True when the handler may run; rejects with the exception of a refusal. */
  activate(context: Context): true | Promise<true> {
    const rule = ruleOf<Context>(context);
    if (rule === false) return true;
    const { view, response, onEnd } = callOf(context);
    const goOn = (verdict: Verdict): true | Promise<true> => {
      onEnd(verdict.finish);
      writeFields(verdict, response);
      return verdict.allowed || this.#refuse(context.getType(), verdict, response);
    };
    const verdict = this.#check(context, view, rule);
    return verdict instanceof Promise ? verdict.then(goOn) : goOn(verdict);
  }

  async close(): Promise<void> {
    await Promise.all([this.#mounted, ...this.#own.values()].map(({ gate }) => gate.close()));
  }

  #check(
    context: Context,
    view: RequestView<Context>,
    rule: Exclude<HandlerRule<Context>, false> | undefined,
  ): MaybePromise<Verdict> {
    if (rule === undefined) return this.#mounted.check(context, view);
    if ('cost' in rule) return this.#mounted.check(context, view, rule.cost);
    return this.#gateOf(rule).check(context, view);
  }

  async #refuse(kind: string, verdict: Verdict, response: unknown): Promise<never> {
    throw await exceptionOf(kind, verdict, this.#classes, response);
  }

  /** Made when the handler is met for the first time: only then are its policy and the guard's store together. */
  #gateOf(rule: PolicyRule<Context>): Mounted<Context> {
    const known = this.#own.get(rule);
    if (known !== undefined) return known;
    let mounted = this.#mounted;
    try {
      const policy = { ...rule.policy, name: rule.policy.name ?? this.#nameFor(rule) };
      mounted = mount({ ...sharedOf(this.#options), policies: [policy] } as GateOptions<Context>);
    } catch (error) {
      // Both were checked by themselves; where they do not go together the guard's own limits hold.
      this.#report(isComportaError(error) ? error : new ComportaError('ERR_OPTION', messageOf(error)));
    }
    this.#own.set(rule, mounted);
    return mounted;
  }

  /** In the guard's name, which keeps services apart; no two of this guard's handlers get one name. */
  #nameFor(rule: PolicyRule<Context>): string {
    const { name: prefix, store } = this.#options as { readonly name?: string; readonly store?: Store };
    const parts = rule.nameParts();
    if (prefix === undefined && store?.kind === 'redis') {
      throw nameMissing(parts.readable, 'on a shared store the handlers of a guard of several policies need one');
    }
    const name = derivedName(prefix ?? 'default', parts);
    if (this.#names.has(name))
      throw nameMissing(parts.readable, `another class has a handler that counts as "${name}"`);
    this.#names.add(name);
    return name;
  }
}

function nameMissing(handler: string, why: string): ComportaError {
  const message = `name: missing in RateLimit of ${handler}; ${why}. The limits of the guard hold for it meanwhile`;
  return new ComportaError('ERR_POLICY', message, 'name');
}

/** The guard's options without its policies: lists of the only policy are that policy's. */
function sharedOf(options: object): object {
  const isShared = (name: string): boolean =>
    isGateOption(name) && ('policies' in options || !/^(allow|deny)$/.test(name));
  return Object.fromEntries(Object.entries(options).filter(([name]) => isShared(name)));
}
