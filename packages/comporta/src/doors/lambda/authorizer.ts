import type { Gate, Verdict } from '../../http/gate.js';
import { mount, type RateLimitOptions } from '../../http/mount.js';
import { createReport } from '../../http/report.js';
import { settleFirst } from '../../http/settle-first.js';
import { refuseUnsettled } from '../../http/unsettled.js';
import { lambdaKind } from './event.js';
import { reportOther } from './turn.js';
import { LambdaView } from './view.js';

/** What a gateway passes on from a refusal; it takes texts only. */
type AuthorizerContext = Record<string, string>;

/** Answer of an authorizer of a REST API, or of an HTTP API with payload format 1.0. */
interface PolicyAnswer {
  principalId: string;
  policyDocument: {
    Version: '2012-10-17';
    Statement: { Action: 'execute-api:Invoke'; Effect: 'Allow' | 'Deny'; Resource: string }[];
  };
  context: AuthorizerContext;
}

/** Answer of an authorizer of an HTTP API with simple responses. */
interface SimpleAnswer {
  isAuthorized: boolean;
  context: AuthorizerContext;
}

/** As its event asks for: one with a `routeArn` is of an HTTP API. */
export type AuthorizerAnswer<Event> = Event extends { readonly routeArn: string } ? SimpleAnswer : PolicyAnswer;

/** The answer of an authorizer to each event. */
export interface Authorizer<Event> {
  readonly gate: Gate<Event>;
  answer(event: Event): Promise<AuthorizerAnswer<Event>>;
}

/** Makes an authorizer's gate. Refuses policies that need to know how a request ended. */
export function lambdaAuthorizer<Event>(options: RateLimitOptions<Event>): Authorizer<Event> {
  const { gate } = mount<Event>(options);
  refuseUnsettled(options, 'an authorizer', 'use withRateLimit in the function');
  const report = createReport(options.onError);
  const other = reportOther(report);
  const verdictOn = async (event: Event): Promise<Pick<Verdict, 'allowed' | 'headers'>> => {
    const kind = lambdaKind(event);
    if (kind !== undefined) return gate.check(new LambdaView(event, kind));
    other();
    return { allowed: true, headers: [] };
  };
  return {
    gate,
    async answer(event) {
      const verdict = await verdictOn(event);
      if (!verdict.allowed) await settleFirst(gate, undefined, report);
      return answerOf(Object(event) as Arns, verdict) as AuthorizerAnswer<Event>;
    },
  };
}

/** What is asked for: `methodArn` in format 1.0, `routeArn` in 2.0. */
interface Arns {
  readonly methodArn?: string;
  readonly routeArn?: string;
}

function answerOf({ methodArn, routeArn }: Arns, verdict: Pick<Verdict, 'allowed' | 'headers'>) {
  const { allowed, headers } = verdict;
  const [, retryAfter] = headers.find(([name]) => name === 'retry-after') ?? [];
  const context: AuthorizerContext = retryAfter === undefined ? {} : { retryAfter };
  if (methodArn === undefined && routeArn !== undefined) return { isAuthorized: allowed, context };
  return policyOf(allowed ? 'Allow' : 'Deny', methodArn ?? '*', context);
}

function policyOf(Effect: 'Allow' | 'Deny', Resource: string, context: AuthorizerContext): PolicyAnswer {
  const Statement: PolicyAnswer['policyDocument']['Statement'] = [{ Action: 'execute-api:Invoke', Effect, Resource }];
  return { principalId: 'comporta', policyDocument: { Version: '2012-10-17', Statement }, context };
}
