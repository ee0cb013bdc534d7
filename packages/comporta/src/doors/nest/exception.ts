import type { Verdict } from '../../http/gate.js';
import { RateLimitRefusal } from '../../http/refusal-error.js';
import { GRPC_CODES } from '../grpc/call.js';

type HttpClass = new (response: object, status: number, options: { readonly cause: unknown }) => Error;
type MessageClass = new (error: object) => Error;

/** Nest's classes of exceptions; those of packages that are not installed are missing. */
export interface ExceptionClasses {
  http(): Promise<HttpClass>;
  ws(): Promise<MessageClass | undefined>;
  rpc(): Promise<MessageClass | undefined>;
}

/** What a guard throws for a refusal, so that the filters of the application get what they expect. */
export async function exceptionOf(
  kind: string,
  verdict: Verdict,
  classes: ExceptionClasses,
  response: unknown,
): Promise<Error> {
  const refusal = new RateLimitRefusal(verdict);
  const { message, status, code, problem, retryAfterMs } = refusal;
  if (kind === 'ws') return inWords(await classes.ws(), { ...problem, message, retryAfterMs }, refusal);
  if (kind === 'rpc') {
    return inWords(await classes.rpc(), { ...problem, code: GRPC_CODES[status], message, retryAfterMs }, refusal);
  }
  const exception = new (await classes.http())(problem, status, { cause: refusal });
  if (kind === 'http') sendVerbatim(response as Sender | null | undefined, problem, verdict.body);
  // What GraphQL servers tell of an error beside its message.
  else Object.assign(exception, { extensions: { code, problem, retryAfterMs } });
  return Object.assign(exception, { message });
}

function inWords(Exception: MessageClass | undefined, said: object, refusal: RateLimitRefusal): Error {
  return Exception === undefined ? refusal : Object.assign(new Exception(said), { cause: refusal });
}

/** What is used of a response of Express, which has `json` and is Node's own, or of Fastify. */
interface Sender {
  json?(value: unknown): unknown;
  send?(value: unknown): unknown;
  setHeader?(name: string, value: string): unknown;
  header?(name: string, value: string): unknown;
  end?(body: string): unknown;
}

const TYPE = ['content-type', 'application/problem+json'] as const;

/**
 * Both frameworks would send the problem with a charset that JSON has no use for, and Express with a tag. So where the
 * filters send it as it is, it goes out as at every other door; anything else that they send is theirs.
 */
function sendVerbatim(response: Sender | null | undefined, problem: object, body: string): void {
  if (!response) return;
  const { json, send } = response;
  if (typeof json === 'function') {
    response.json = (value) => {
      if (value !== problem) return json.call(response, value);
      response.setHeader?.(...TYPE);
      response.end?.(body);
      return response;
    };
  } else if (typeof send === 'function') {
    response.send = (value) => {
      if (value !== problem) return send.call(response, value);
      response.header?.(...TYPE);
      return send.call(response, new TextEncoder().encode(body));
    };
  }
}
