import { applyFields, type FieldTarget } from '../../http/apply.js';
import type { Verdict } from '../../http/gate.js';
import { isMultiValue, type LambdaEvent, type LambdaKind } from './event.js';

/** An answer as API Gateway, function URLs and load balancers take it. */
export interface LambdaAnswer {
  readonly statusCode: number;
  /** Of load balancers, which need it: `429 Too Many Requests`. */
  readonly statusDescription?: string;
  readonly headers?: { [name: string]: string };
  /** In place of `headers` where the target group of a load balancer is set so. */
  readonly multiValueHeaders?: { [name: string]: string[] };
  readonly body: string;
  readonly isBase64Encoded: false;
}

/** What is read of a handler's answer. */
interface HandlerAnswer {
  readonly statusCode?: unknown;
  readonly headers?: Readonly<Record<string, unknown>> | undefined;
  readonly multiValueHeaders?: Readonly<Record<string, unknown>> | undefined;
}

const REASONS: Readonly<Record<number, string>> = {
  403: 'Forbidden',
  429: 'Too Many Requests',
  503: 'Service Unavailable',
};

/** A refusal in the form that the event's sender takes. */
export function lambdaRefusal(event: LambdaEvent, kind: LambdaKind, verdict: Verdict): LambdaAnswer {
  const { status, body } = verdict;
  const isBalancer = kind === 'balancer';
  const { headers, multiValueHeaders } = withFields<HandlerAnswer>({}, verdict, isBalancer && isMultiValue(event));
  return {
    statusCode: status,
    ...(isBalancer ? { statusDescription: `${status} ${REASONS[status] ?? ''}`.trim() } : {}),
    ...(multiValueHeaders === undefined ? { headers } : { multiValueHeaders }),
    body,
    isBase64Encoded: false,
  } as LambdaAnswer;
}

/**
 * A handler's answer with the fields of a verdict, as a copy. Nothing and, where the sender would not
 * understand it, anything without a status are left as they are.
 */
export function lambdaAnswer(event: LambdaEvent, kind: LambdaKind, answer: unknown, verdict: Verdict): unknown {
  if (verdict.headers.length === 0 || answer === undefined || answer === null) return answer;
  if (isAnswer(answer)) return withFields(answer, verdict, kind === 'balancer' && isMultiValue(event));
  if (kind !== 'http') return answer;
  // What format 2.0 makes of an answer without a status.
  const body = typeof answer === 'string' ? answer : JSON.stringify(answer);
  const headers = { 'content-type': 'application/json' };
  return withFields({ statusCode: 200, headers, body, isBase64Encoded: false }, verdict, false);
}

/** The status that a handler's answer comes to. What cannot be read as one becomes 502 at the sender. */
export function lambdaStatus(kind: LambdaKind, answer: unknown): number {
  if (isAnswer(answer)) return Number(answer.statusCode) || 502;
  return kind === 'http' ? 200 : 502;
}

function isAnswer(answer: unknown): answer is HandlerAnswer {
  return typeof answer === 'object' && answer !== null && (answer as HandlerAnswer).statusCode !== undefined;
}

function withFields<Answer extends HandlerAnswer>(answer: Answer, verdict: Verdict, isMulti: boolean): Answer {
  const single = { ...answer.headers };
  const multi = { ...answer.multiValueHeaders };
  const target: FieldTarget = {
    // The lists replace a single value of the same name.
    get: (name) => valueIn(multi, name) ?? valueIn(single, name),
    set: (name, value) => {
      remove(multi, name);
      remove(single, name);
      if (isMulti) multi[name] = [value];
      else single[name] = value;
    },
  };
  applyFields(verdict, target);
  return {
    ...answer,
    ...(isEmpty(single) && answer.headers === undefined ? {} : { headers: single }),
    ...(isEmpty(multi) && answer.multiValueHeaders === undefined ? {} : { multiValueHeaders: multi }),
  };
}

const isEmpty = (fields: object): boolean => Object.keys(fields).length === 0;

const keysOf = (fields: object, name: string): readonly string[] =>
  Object.keys(fields).filter((key) => key.toLowerCase() === name);

function valueIn(fields: Readonly<Record<string, unknown>>, name: string): unknown {
  const [key] = keysOf(fields, name);
  return key === undefined ? undefined : fields[key];
}

function remove(fields: Record<string, unknown>, name: string): void {
  for (const key of keysOf(fields, name)) delete fields[key];
}
