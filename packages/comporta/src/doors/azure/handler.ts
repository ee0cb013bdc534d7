import { applyFields } from '../../http/apply.js';
import { addressReader, type ClientAddress } from '../../http/client-address.js';
import type { Gate, Verdict } from '../../http/gate.js';
import { mount, type RateLimitOptions } from '../../http/mount.js';
import { createReport } from '../../http/report.js';
import { settleFirst } from '../../http/settle-first.js';
import { WebView } from '../../http/web-view.js';
import { lastForwarded } from '../lambda/view.js';

/** What is read of the request of an HTTP trigger. */
export interface FunctionRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
}

/** What is read and written of an answer: one that was made with a class, or a plain one. */
export interface FunctionAnswer {
  readonly status?: number | undefined;
  readonly headers?: unknown;
}

export type FunctionOptions<Request, Context> = RateLimitOptions<Request> & {
  /** The entry that App Service wrote last in `X-Forwarded-For`, when left out; else a platform or a function. */
  readonly clientAddress?: ClientAddress<[request: Request, context: Context]>;
};

/** Wraps the handler of an HTTP trigger, whose answer is whole when it returns. */
export function limitFunction<Request extends FunctionRequest, Context, Answer extends FunctionAnswer>(
  handler: (request: Request, context: Context) => Answer | Promise<Answer>,
  { clientAddress, ...others }: FunctionOptions<Request, Context>,
): { readonly gate: Gate<Request>; handle(request: Request, context: Context): Promise<Answer | Refusal> } {
  const options = others as RateLimitOptions<Request>;
  const { gate } = mount<Request>(options);
  const report = createReport(options.onError);
  const addressOf = addressReader<[Request, Context]>(clientAddress, ({ headers }) => headers, lastEntry);
  const settle = (): Promise<void> => settleFirst(gate, undefined, report);
  const handle = async (request: Request, context: Context): Promise<Answer | Refusal> => {
    const view = new WebView<Request>(request as never, addressOf(request, context), request);
    const verdict = await gate.check(view);
    if (!verdict.allowed) {
      await settle();
      return refusalOf(verdict);
    }
    const end = async (status: number): Promise<void> => {
      if (verdict.finish === undefined) return;
      verdict.finish({ status, aborted: false });
      await settle();
    };
    try {
      const answer = await handler(request, context);
      await end(answer?.status ?? 200);
      return withFields(answer, verdict);
    } catch (error) {
      await end(500);
      throw error;
    }
  };
  return { gate, handle };
}

const lastEntry = ({ headers }: FunctionRequest): string | undefined => {
  const line = headers.get('x-forwarded-for');
  return line === null ? undefined : lastForwarded([line]);
};

/** An answer in place of the handler's. */
export interface Refusal {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
}

function refusalOf({ status, headers, body }: Verdict): Refusal {
  return { status, headers: Object.fromEntries(headers), body };
}

/**
 * A plain answer is copied, since a handler may return the same one again; one of a class has fields to set. No
 * answer stays none, for that is a status of its own.
 */
function withFields<Answer extends FunctionAnswer>(answer: Answer, verdict: Verdict): Answer {
  if (verdict.headers.length === 0 || answer === undefined || answer === null) return answer;
  if (!isPlain(answer)) {
    if (answer.headers instanceof Headers) setFields(answer.headers, verdict);
    return answer;
  }
  const headers = new Headers(answer.headers as Headers | undefined);
  setFields(headers, verdict);
  return { ...answer, headers };
}

/** Of no class: also one without a prototype, or from another realm. */
function isPlain(answer: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(answer);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function setFields(headers: Headers, verdict: Verdict): void {
  applyFields(verdict, { get: (name) => headers.get(name), set: (name, value) => headers.set(name, value) });
}
