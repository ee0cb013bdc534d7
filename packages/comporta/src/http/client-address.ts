import { ComportaError, show } from '../core/errors.js';

/** Address of the socket's peer, read from what a runtime or framework passes to a handler. */
export type ReadAddress<Args extends readonly unknown[]> = (...args: Args) => string | undefined;

/** Platforms that say in a field of their own who the client is; believed only where a person names one. */
export type Platform = keyof typeof PLATFORMS;

const PLATFORMS = {
  cloudflare: (headers: Headers) => headers.get('cf-connecting-ip'),
  fly: (headers: Headers) => headers.get('fly-client-ip'),
  netlify: (headers: Headers) => headers.get('x-nf-client-connection-ip'),
  vercel: (headers: Headers) => headers.get('x-real-ip'),
} as const;

/** How a web adapter learns the address: by its own ways when left out. */
export type ClientAddress<Args extends readonly unknown[]> = ReadAddress<Args> | Platform;

/**
 * A reader that never throws: without an address the client counts as anonymous. Throws `ERR_OPTION` when
 * the option is neither a function nor a known platform.
 */
export function addressReader<Args extends readonly unknown[]>(
  option: ClientAddress<Args> | undefined,
  headersOf: (...args: Args) => Headers,
  otherwise: ReadAddress<Args>,
): ReadAddress<Args> {
  const read = typeof option === 'string' ? ofPlatform(option, headersOf) : (option ?? otherwise);
  if (typeof read !== 'function') throw refusal(option);
  return (...args) => {
    try {
      const value: unknown = read(...args);
      return typeof value === 'string' ? value : undefined;
    } catch {
      return undefined;
    }
  };
}

function ofPlatform<Args extends readonly unknown[]>(
  name: Platform,
  headersOf: (...args: Args) => Headers,
): ReadAddress<Args> {
  if (!Object.hasOwn(PLATFORMS, name)) throw refusal(name);
  const read = PLATFORMS[name];
  return (...args) => read(headersOf(...args)) ?? undefined;
}

function refusal(option: unknown): ComportaError {
  const names = Object.keys(PLATFORMS).join(', ');
  return new ComportaError(
    'ERR_OPTION',
    `clientAddress: expected a function, or a platform (${names}), got ${show(option)}`,
    'clientAddress',
  );
}

/** What Deno and Bun pass beside the request; srvx sets `ip` on it, Netlify on its context. */
interface RuntimeContext {
  readonly ip?: unknown;
  readonly remoteAddr?: { readonly hostname?: string };
  requestIP?(request: Request): { readonly address: string } | null;
}

/** The address as Deno, Bun, srvx and Netlify tell it. */
export function runtimeAddress(
  request: Request & { readonly ip?: string },
  ...[context]: readonly unknown[]
): string | undefined {
  const { ip, remoteAddr, requestIP } = (context ?? {}) as RuntimeContext;
  const own = remoteAddr?.hostname ?? requestIP?.call(context, request)?.address ?? request.ip;
  return own ?? (typeof ip === 'string' ? ip : undefined);
}
