import { entriesFromRight } from '../../identity/forwarded.js';
import type { RequestView } from '../../identity/view.js';
import type { LambdaEvent, LambdaKind } from './event.js';

/** A view of an HTTP event; `request` is the event itself. */
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
    return (this.#kind === 'http' ? this.#event.requestContext?.http?.method : this.#event.httpMethod) ?? 'GET';
  }

  get url(): string {
    const { rawPath, rawQueryString, path } = this.#event;
    const query = this.#kind === 'http' ? rawQueryString : queryOf(this.#event, this.#kind === 'rest');
    return `${(this.#kind === 'http' ? rawPath : path) ?? '/'}${query ? `?${query}` : ''}`;
  }

  get route(): string | undefined {
    const { routeKey, resource } = this.#event;
    if (this.#kind === 'balancer') return undefined;
    return templateOf(this.#kind === 'http' ? routeKey?.slice(routeKey.indexOf(' ') + 1) : resource);
  }

  get peerAddress(): string | undefined {
    const { requestContext } = this.#event;
    if (this.#kind === 'http') return requestContext?.http?.sourceIp;
    if (this.#kind === 'rest') return requestContext?.identity?.sourceIp ?? undefined;
    return lastForwarded(this.header('x-forwarded-for'));
  }

  /** API Gateway keeps the case of names in format 1.0, and takes cookies out of the fields in 2.0. */
  header(name: string): readonly string[] {
    const { multiValueHeaders, headers, cookies } = this.#event;
    if (name === 'cookie' && cookies !== undefined && cookies !== null) return [cookies.join('; ')];
    return Object.entries(multiValueHeaders ?? headers ?? {}).flatMap(([key, value]) =>
      key.toLowerCase() === name ? [value ?? []].flat() : [],
    );
  }
}

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
  const all = event.multiValueQueryStringParameters ?? event.queryStringParameters ?? {};
  return Object.entries(all)
    .flatMap(([name, values]) => [values ?? []].flat().map((value) => `${write(name)}=${write(value)}`))
    .join('&');
}

/** `/users/{id}` and `/files/{rest+}` as patterns are written here; `$default` is no template. */
function templateOf(route: string | undefined): string | undefined {
  if (route === undefined || !route.startsWith('/')) return undefined;
  return route.replace(/\{\w+\+\}$/, '*').replace(/\{(\w+)\}/g, ':$1');
}
