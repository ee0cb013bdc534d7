import { onAbort } from '../core/abort.js';
import type { Outcome } from '../policies/policy.js';
import { applyFields } from './apply.js';
import type { Verdict } from './gate.js';
import { thrownStatus } from './thrown-status.js';

/** Answers a request as its verdict says; the handler runs only when it allows. */
export async function answerWeb<Answer extends Response | undefined>(
  request: Request,
  verdict: Verdict,
  handle: () => Answer | Promise<Answer>,
): Promise<Answer | Response> {
  const { allowed, body, status, finish } = verdict;
  if (!allowed) return withFields(new Response(body, { status }), verdict);
  if (finish === undefined) return withFields(await handle(), verdict);
  const { signal } = request;
  const gone = (): void => finish({ status: 0, aborted: true });
  if (signal.aborted) gone();
  const forget = onAbort(signal, gone);
  const end = (outcome: Outcome): void => {
    forget();
    finish(outcome);
  };
  try {
    return watched(request, withFields(await handle(), verdict), end);
  } catch (error) {
    end({ status: thrownStatus(error), aborted: false });
    throw error;
  }
}

/** What Bun's handlers answer with after an upgrade stands for this. */
const SWITCHED = { status: 101, body: null };

/**
 * Fetched and redirect responses cannot be changed, only copied; an upgrade (101) cannot even be copied. One without
 * a body may be given to many requests: it is left as it is.
 */
export function withFields<Answer extends Response | undefined>(response: Answer, verdict: Verdict): Answer | Response {
  if (verdict.headers.length === 0 || response === undefined || response.status < 200) return response;
  const isPlain = Object.getPrototypeOf(response) === Response.prototype;
  if (isPlain && response.body === null) return setFields(new Response(null, response), verdict);
  try {
    return setFields(response, verdict);
  } catch {
    return setFields(new Response(response.body, response), verdict);
  }
}

function setFields(response: Response, verdict: Verdict): Response {
  const { headers } = response;
  applyFields(verdict, { get: (name) => headers.get(name), set: (name, value) => headers.set(name, value) });
  return response;
}

/** A response whose end is told. Without a body that somebody will read, it ends at once. */
function watched<Answer extends Response | undefined>(
  request: Request,
  response: Answer,
  end: (outcome: Outcome) => void,
): Answer | Response {
  const { status, body } = response ?? SWITCHED;
  if (body === null || body.locked || request.method === 'HEAD' || status < 200) {
    end({ status, aborted: false });
    return response;
  }
  return new Response(
    relay(body, (aborted) => end({ status, aborted })),
    response,
  );
}

/** Passes chunks on as they are asked for, no sooner. */
function relay(body: ReadableStream<Uint8Array>, end: (aborted: boolean) => void): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const source: UnderlyingDefaultSource<Uint8Array> = {
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(value);
        controller.close();
        end(false);
      } catch (error) {
        end(true);
        controller.error(error);
      }
    },
    cancel(reason) {
      end(true);
      return reader.cancel(reason);
    },
  };
  return new ReadableStream(source, { highWaterMark: 0 });
}
