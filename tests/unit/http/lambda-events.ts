import type { ALBEvent, APIGatewayProxyEvent, APIGatewayProxyEventV2 } from 'aws-lambda';

/** An event of a REST API, as far as it is read. */
export function restEvent(over: Partial<APIGatewayProxyEvent> = {}): APIGatewayProxyEvent {
  return {
    resource: '/users/{id}',
    path: '/users/7',
    httpMethod: 'GET',
    headers: { 'X-User': 'last' },
    multiValueHeaders: { 'X-User': ['first', 'last'] },
    queryStringParameters: { q: 'ü&' },
    multiValueQueryStringParameters: { q: ['ü&', 'b'] },
    requestContext: { identity: { sourceIp: '203.0.113.9' } },
    body: null,
    isBase64Encoded: false,
    ...over,
  } as APIGatewayProxyEvent;
}

/** An event of an HTTP API or a function URL. */
export function httpEvent(over: Partial<APIGatewayProxyEventV2> = {}, method = 'GET'): APIGatewayProxyEventV2 {
  return {
    version: '2.0',
    routeKey: 'GET /users/{id}',
    rawPath: '/users/7',
    rawQueryString: 'q=%C3%BC&q=b',
    cookies: ['a=1', 'b=2'],
    headers: { 'x-user': 'first,last' },
    requestContext: { http: { method, path: '/users/7', sourceIp: '203.0.113.9' } },
    isBase64Encoded: false,
    ...over,
  } as APIGatewayProxyEventV2;
}

/** An event of a load balancer. */
export function albEvent(over: Partial<ALBEvent> = {}): ALBEvent {
  return {
    requestContext: { elb: { targetGroupArn: 'arn:aws:elasticloadbalancing:eu-west-1:1:targetgroup/t/1' } },
    httpMethod: 'GET',
    path: '/users/7',
    queryStringParameters: { q: '%C3%BC' },
    headers: { 'x-user': 'last', 'x-forwarded-for': '1.1.1.1, 203.0.113.9' },
    body: null,
    isBase64Encoded: false,
    ...over,
  };
}
