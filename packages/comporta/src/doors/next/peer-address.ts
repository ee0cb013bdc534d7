import { globalValue, setGlobalValue } from '../../core/globals.js';

/** Where the peer of the request that is being answered is kept: a bundler makes several copies of this file. */
const PEERS = Symbol.for('comporta.peer-addresses');

interface Peers {
  getStore(): string | undefined;
  enterWith(address: string | undefined): void;
}

interface AsyncHooks {
  readonly AsyncLocalStorage: new () => Peers;
}

interface DiagnosticsChannel {
  subscribe(channel: string, listen: (message: unknown) => void): void;
}

/**
 * From now on remembers, for as long as a request is being answered, whose connection it came on: for frameworks
 * that run in Node and hide the socket. To be called once at start; does nothing in other runtimes.
 */
export function rememberPeers(): void {
  const hooks = builtin<AsyncHooks>('node:async_hooks');
  const channels = builtin<DiagnosticsChannel>('node:diagnostics_channel');
  if (hooks === undefined || channels === undefined || globalValue(PEERS) !== undefined) return;
  const peers = new hooks.AsyncLocalStorage();
  setGlobalValue(PEERS, peers);
  channels.subscribe('http.server.request.start', (message) => {
    const { request } = message as { readonly request: { readonly socket: { readonly remoteAddress?: string } } };
    peers.enterWith(request.socket.remoteAddress);
  });
}

/** A module of Node, asked for at run time, so that no bundler for other runtimes meets its name. */
function builtin<Module>(name: string): Module | undefined {
  try {
    const node = globalValue('process') as { getBuiltinModule?(name: string): Module | undefined } | undefined;
    return node?.getBuiltinModule?.(name);
  } catch {
    // Runtimes that imitate Node throw at what they lack.
    return undefined;
  }
}

/** Address of the peer of the request that is being answered; `undefined` unless {@link rememberPeers} was called. */
export function rememberedPeer(): string | undefined {
  return (globalValue(PEERS) as Peers | undefined)?.getStore();
}
