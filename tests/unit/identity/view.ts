import type { RequestView } from 'comporta/http';

interface Parts {
  readonly method?: string;
  readonly url?: string;
  readonly route?: string;
  readonly peer?: string | undefined;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
}

/** A request as adapters show it; the peer is an address of the documentation range unless said otherwise. */
export function view(parts: Parts = {}): RequestView {
  const { method = 'GET', url = '/', route, headers = {} } = parts;
  const values = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value].flat()]));
  return {
    method,
    url,
    route,
    peerAddress: 'peer' in parts ? parts.peer : '203.0.113.9',
    header: (name) => values[name] ?? [],
    request: undefined,
  };
}
