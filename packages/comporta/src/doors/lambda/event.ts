/** How an event says that it is an HTTP request, which is also how its answer has to look. */
export type LambdaKind = 'rest' | 'http' | 'balancer';

type Named<Value> = Readonly<Record<string, Value | undefined>> | null;

/** What is read of an event; every part may be missing, for what calls a function is not ours to say. */
export interface LambdaEvent {
  readonly requestContext?: LambdaRequestContext | null;
  /** Of REST APIs and load balancers. */
  readonly httpMethod?: string | undefined;
  readonly path?: string | undefined;
  /** Template of the route in a REST API: `/users/{id}`. */
  readonly resource?: string | undefined;
  /** Of HTTP APIs and function URLs. */
  readonly rawPath?: string | undefined;
  readonly rawQueryString?: string | undefined;
  /** `GET /users/{id}`, or `$default`. */
  readonly routeKey?: string | undefined;
  readonly cookies?: readonly string[] | undefined;
  readonly headers?: Named<string> | undefined;
  readonly multiValueHeaders?: Named<readonly string[]> | undefined;
  readonly queryStringParameters?: Named<string> | undefined;
  readonly multiValueQueryStringParameters?: Named<readonly string[]> | undefined;
}

interface LambdaRequestContext {
  readonly http?: { readonly method?: string; readonly sourceIp?: string };
  readonly identity?: { readonly sourceIp?: string | null };
  readonly elb?: unknown;
}

/**
 * The kind of an event, by what it has, whatever is wrong with that; `undefined` when it is no HTTP request. `rest`
 * is API Gateway's payload format 1.0, `http` is format 2.0, which function URLs have too.
 */
export function lambdaKind(event: unknown): LambdaKind | undefined {
  if (typeof event !== 'object' || event === null) return undefined;
  const { requestContext, httpMethod } = event as LambdaEvent;
  if (typeof requestContext !== 'object' || requestContext === null) return undefined;
  if (typeof requestContext.http === 'object' && requestContext.http !== null) return 'http';
  if (httpMethod === undefined || httpMethod === null) return undefined;
  return requestContext.elb === undefined ? 'rest' : 'balancer';
}

/** Whether several lines of a field come, and are to be answered, as a list: a setting of the target group. */
export const isMultiValue = ({ multiValueHeaders }: LambdaEvent): boolean =>
  typeof multiValueHeaders === 'object' && multiValueHeaders !== null;
