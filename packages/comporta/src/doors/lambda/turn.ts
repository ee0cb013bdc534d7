import { ComportaError } from '../../core/errors.js';
import type { Gate, Verdict } from '../../http/gate.js';
import { mount, type RateLimitOptions } from '../../http/mount.js';
import { createReport, type Report } from '../../http/report.js';
import { settleFirst } from '../../http/settle-first.js';
import { type LambdaAnswer, lambdaAnswer, lambdaRefusal, lambdaStatus } from './answer.js';
import { type LambdaEvent, type LambdaKind, lambdaKind } from './event.js';
import { LambdaView } from './view.js';

/** What is read of the context of an invocation. */
interface LambdaContext {
  getRemainingTimeInMillis?(): number;
}

/** One invocation of a function, from its event to its answer. */
export interface LambdaTurn {
  /** The answer in place of the handler's, when the request is over its limits. */
  readonly refusal: LambdaAnswer | undefined;
  /** The handler's answer with fields, once all that it changes is stored: the process is frozen after it. */
  end(answer: unknown, context: unknown): Promise<unknown>;
  /** The same for a handler that threw; `status` is what its sender makes of that. */
  fail(status: number, context: unknown): Promise<void>;
}

/** A gate for events. */
export interface LambdaDoor<Event> {
  readonly gate: Gate<Event>;
  /** Decides on an event. Never rejects; events that are no HTTP requests pass, and that is reported once. */
  begin(event: Event, context: unknown): Promise<LambdaTurn>;
}

/** Makes a gate for events; throws a `ComportaError` naming the option that is wrong. */
export function lambdaDoor<Event>(options: RateLimitOptions<Event>): LambdaDoor<Event> {
  const { gate } = mount<Event>(options);
  const report = createReport(options.onError);
  const other = reportOther(report);
  return {
    gate,
    async begin(event, context) {
      const kind = lambdaKind(event);
      if (kind === undefined) {
        other();
        return PASSING;
      }
      const verdict = await gate.check(new LambdaView(event, kind));
      const settle = (of: unknown): Promise<void> => settleFirst(gate, remainingMs(of), report);
      if (!verdict.allowed) await settle(context);
      return turnOf(event as LambdaEvent, kind, verdict, settle);
    },
  };
}

function turnOf(
  event: LambdaEvent,
  kind: LambdaKind,
  verdict: Verdict,
  settle: (context: unknown) => Promise<void>,
): LambdaTurn {
  const { allowed, finish } = verdict;
  const finishWith = async (status: number, context: unknown): Promise<void> => {
    if (finish === undefined) return;
    finish({ status, aborted: false });
    await settle(context);
  };
  return {
    refusal: allowed ? undefined : lambdaRefusal(event, kind, verdict),
    async end(answer, context) {
      await finishWith(lambdaStatus(kind, answer), context);
      return lambdaAnswer(event, kind, answer, verdict);
    },
    fail: finishWith,
  };
}

const PASSING: LambdaTurn = {
  refusal: undefined,
  end: async (answer) => answer,
  fail: async () => undefined,
};

function remainingMs(context: unknown): number | undefined {
  const { getRemainingTimeInMillis: read } = Object(context) as LambdaContext;
  const left = typeof read === 'function' ? read.call(context) : undefined;
  return typeof left === 'number' && !Number.isNaN(left) ? left : undefined;
}

/** Once for each door: a function that serves a queue as well would fill its log. */
export function reportOther(report: Report): () => void {
  let told = false;
  return () => {
    if (!told) report(OTHER);
    told = true;
  };
}

const OTHER: ComportaError = new ComportaError(
  'ERR_OPTION',
  'event: no HTTP request of API Gateway, a function URL or a load balancer; such events pass uncounted',
);
