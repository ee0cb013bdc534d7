import { ComportaError, show } from '../core/errors.js';

/** Address of the socket's peer, read from what a runtime or framework passes to a handler. */
export type ReadAddress<Args extends readonly unknown[]> = (...args: Args) => string | undefined;

/** Platforms that say in a field of their own who the client is; believed only where a person names one. */
export type Platform = keyof typeof PLATFORMS;

const PLATFORMS = {
  'azure-front-door': (headers: Headers): string | null => headers.get('x-azure-socketip'),
  cloudflare: (headers: Headers): string | null => headers.get('cf-connecting-ip'),
  fly: (headers: Headers): string | null => headers.get('fly-client-ip'),
  netlify: (headers: Headers): string | null => headers.get('x-nf-client-connection-ip'),
  vercel: (headers: Headers): string | null => headers.get('x-real-ip'),
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
  const read = typeof option === 'string' ? ofPlatform(option, headersOf) : option === undefined ? otherwise : option;
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

/** What runtimes and platforms pass beside the request. */
interface RuntimeContext {
  /** Of Netlify. */
  readonly ip?: unknown;
  /** Of Deno. */
  readonly remoteAddr?: { readonly hostname?: string };
  /** Of Bun. */
  requestIP?(request: Request): { readonly address: string } | null;
  /** Of Hono's server on Node. */
  readonly incoming?: { readonly socket?: { readonly remoteAddress?: string } };
}

/** The address as Deno, Bun, srvx, Netlify and Hono's server on Node tell it. */
export function runtimeAddress(
  request: Request & { readonly ip?: string | undefined },
  ...[context]: readonly unknown[]
): string | undefined {
  const { ip, remoteAddr, requestIP, incoming } = (context ?? {}) as RuntimeContext;
  const own = remoteAddr?.hostname ?? requestIP?.call(context, request)?.address ?? incoming?.socket?.remoteAddress;
  return own ?? request.ip ?? (typeof ip === 'string' ? ip : undefined);
}
