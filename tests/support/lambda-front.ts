import type { IncomingMessage, RequestListener } from 'node:http';

/** What stands before a function: a REST API, an HTTP API or function URL, or a load balancer. */
export type Front = 'rest' | 'http' | 'balancer' | 'balancer, lists';

type Event = Record<string, unknown>;

const joined = (fields: Readonly<Record<string, readonly string[] | undefined>>, by: string) =>
  Object.fromEntries(Object.entries(fields).map(([name, values = []]) => [name, values.join(by)]));

/** The peer is the last entry of `X-Forwarded-For` at every front. */
function fieldsOf({ headersDistinct, socket }: IncomingMessage): Record<string, string[]> {
  const claimed = headersDistinct['x-forwarded-for'] ?? [];
  const fields = { ...headersDistinct, 'x-forwarded-for': [[...claimed, socket.remoteAddress].join(', ')] };
  return fields as Record<string, string[]>;
}

/** The query as a front hands it on: all values by name. */
function queryOf(search: string, isDecoded: boolean): Record<string, string[]> {
  const query: Record<string, string[]> = {};
  for (const part of search.split('&').filter((text) => text !== '')) {
    const [name = '', value = ''] = part.split('=').map((text) => (isDecoded ? decodeURIComponent(text) : text));
    query[name] = [...(query[name] ?? []), value];
  }
  return query;
}

/** The event that a front makes of a request. */
export function eventOf(front: Front, request: IncomingMessage): Event {
  const [path = '/', search = ''] = (request.url ?? '/').split('?');
  const fields = fieldsOf(request);
  const sourceIp = request.socket.remoteAddress;
  const { method } = request;
  if (front === 'http') {
    const { cookie, ...others } = fields;
    return {
      version: '2.0',
      routeKey: '$default',
      rawPath: path,
      rawQueryString: search,
      ...(cookie === undefined ? {} : { cookies: cookie.flatMap((line) => line.split('; ')) }),
      headers: joined(others, ','),
      requestContext: { http: { method, path, sourceIp, protocol: 'HTTP/1.1' }, stage: '$default' },
      isBase64Encoded: false,
    };
  }
  const query = queryOf(search, front === 'rest');
  const lists = { multiValueHeaders: fields, multiValueQueryStringParameters: query };
  const singles = { headers: joined(fields, ', '), queryStringParameters: joined(query, ',') };
  const base = { httpMethod: method, path, body: null, isBase64Encoded: false };
  if (front === 'rest') {
    const requestContext = { identity: { sourceIp }, stage: 'prod', resourcePath: '/{proxy+}' };
    return { ...base, ...singles, ...lists, resource: '/{proxy+}', requestContext };
  }
  const requestContext = { elb: { targetGroupArn: 'arn:aws:elasticloadbalancing:eu-west-1:1:targetgroup/t/1' } };
  return { ...base, ...(front === 'balancer' ? singles : lists), requestContext };
}

interface Answer {
  readonly statusCode: number;
  readonly statusDescription?: string;
  readonly headers?: Record<string, string>;
  readonly multiValueHeaders?: Record<string, string[]>;
  readonly cookies?: readonly string[];
  readonly body?: string;
}

/** What a front makes of the answer of a function; throws for one that it would answer 502 to. */
function readAnswer(front: Front, answer: unknown): Answer {
  if (front === 'http' && (answer as Partial<Answer> | null)?.statusCode === undefined) {
    const body = typeof answer === 'string' ? answer : JSON.stringify(answer);
    return { statusCode: 200, headers: { 'content-type': 'application/json' }, body };
  }
  const { statusCode, statusDescription, headers, multiValueHeaders } = answer as Answer;
  const isBalancer = front.startsWith('balancer');
  const isRefusal = [403, 429, 503].includes(statusCode);
  if (!Number.isInteger(statusCode)) throw new TypeError('no status');
  if (isBalancer && isRefusal && statusDescription === undefined) throw new TypeError('no description');
  if (front === 'balancer' && multiValueHeaders !== undefined) throw new TypeError('lists');
  if (front === 'balancer, lists' && headers !== undefined) throw new TypeError('no lists');
  return answer as Answer;
}

/** Stands before a function as a front of AWS does: whole answers only, and none when the client has gone. */
export function lambdaFront(front: Front, handler: (event: never, context: never) => unknown): RequestListener {
  return async (request, response) => {
    try {
      const context = { getRemainingTimeInMillis: () => 3000, awsRequestId: '1' };
      const result = await handler(eventOf(front, request) as never, context as never);
      const { statusCode, headers = {}, multiValueHeaders = {}, cookies, body = '' } = readAnswer(front, result);
      const setCookie = cookies === undefined ? {} : { 'set-cookie': [...cookies] };
      response.writeHead(statusCode, { ...headers, ...multiValueHeaders, ...setCookie }).end(body);
    } catch (error) {
      response.writeHead(502).end(String(error));
    }
  };
}
