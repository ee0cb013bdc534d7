import { wellFormed } from '../../http/well-formed.js';
import { entriesFromRight } from '../../identity/forwarded.js';
import type { RequestView } from '../../identity/view.js';
import type { LambdaEvent, LambdaKind } from './event.js';

/** A view of an HTTP event; `request` is the event itself. Parts of another type than they should have are missing. */
export class LambdaView<Event> implements RequestView<Event> {
  readonly request: Event;
  readonly #event: LambdaEvent;
  readonly #kind: LambdaKind;

  constructor(event: Event, kind: LambdaKind) {
    this.request = event;
    this.#event = event as LambdaEvent;
    this.#kind = kind;
  }

  get method(): string {
    const { requestContext, httpMethod } = this.#event;
    return textOf(this.#kind === 'http' ? requestContext?.http?.method : httpMethod) ?? 'GET';
  }

  get url(): string {
    const { rawPath, rawQueryString, path } = this.#event;
    const query = this.#kind === 'http' ? textOf(rawQueryString) : queryOf(this.#event, this.#kind === 'rest');
    return `${textOf(this.#kind === 'http' ? rawPath : path) ?? '/'}${query ? `?${query}` : ''}`;
  }

  get route(): string | undefined {
    const { routeKey, resource } = this.#event;
    if (this.#kind === 'balancer') return undefined;
    const key = textOf(routeKey);
    return templateOf(this.#kind === 'http' ? key?.slice(key.indexOf(' ') + 1) : textOf(resource));
  }

  get peerAddress(): string | undefined {
    const { requestContext } = this.#event;
    if (this.#kind === 'http') return textOf(requestContext?.http?.sourceIp);
    if (this.#kind === 'rest') return textOf(requestContext?.identity?.sourceIp);
    return lastForwarded(this.header('x-forwarded-for'));
  }

  /** API Gateway keeps the case of names in format 1.0, and takes cookies out of the fields in 2.0. */
  header(name: string): readonly string[] {
    const { multiValueHeaders, headers, cookies } = this.#event;
    if (name === 'cookie' && cookies !== undefined && cookies !== null) return [textsOf(cookies).join('; ')];
    return entriesOf(multiValueHeaders ?? headers).flatMap(([key, values]) =>
      key.toLowerCase() === name ? textsOf(values) : [],
    );
  }
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? wellFormed(value) : undefined);

const textsOf = (values: unknown): readonly string[] => [values].flat().flatMap((value) => textOf(value) ?? []);

const entriesOf = (given: unknown): readonly [string, unknown][] =>
  typeof given === 'object' && given !== null ? Object.entries(given) : [];

/**
 * The entry that the last proxy wrote, for platforms that tell the address of their peer in no other way. It
 * stands for that peer, so that `trustedProxies` can go on from it to the left.
 */
export function lastForwarded(lines: readonly string[]): string | undefined {
  return entriesFromRight(lines, false)[0];
}

/** The query as it was sent; REST APIs hand on what they have decoded, load balancers what came. */
function queryOf(event: LambdaEvent, isDecoded: boolean): string {
  const write = isDecoded ? encodeURIComponent : (text: string) => text;
  return entriesOf(event.multiValueQueryStringParameters ?? event.queryStringParameters)
    .flatMap(([name, values]) => textsOf(values).map((value) => `${write(wellFormed(name))}=${write(value)}`))
    .join('&');
}

/** `/users/{id}` and `/files/{rest+}` as patterns are written here; `$default` is no template. */
function templateOf(route: string | undefined): string | undefined {
  if (route === undefined || !route.startsWith('/')) return undefined;
  return route.replace(/\{\w+\+\}$/, '*').replace(/\{(\w+)\}/g, ':$1');
}
