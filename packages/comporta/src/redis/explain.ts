/** What to do about a failure, by the words that servers, sockets and TLS use for it; first match wins. */
const FIXES: readonly (readonly [RegExp, string])[] = [
  [/WRONGPASS/, 'user or password is wrong: redis://USER:PASSWORD@host, with special characters percent-encoded'],
  [/NOAUTH/, 'the server wants a password: redis://USER:PASSWORD@host, or redis://:PASSWORD@host for the default user'],
  [/NOPERM.*key|access.*keys?\b.*permission/, 'let the user use our keys: ACL SETUSER name ~cmp1:*'],
  [/NOPERM|no permission|can't run this command|ACL/, 'grant the least rights of docs/redis.md: ACL SETUSER name +...'],
  [/ECONNREFUSED/, 'nothing listens there: start the server, or correct host and port'],
  [/ENOTFOUND|EAI_AGAIN/, 'the host name is not known to DNS: correct it, or the resolver of this machine'],
  [
    /ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|[Cc]onnection timeout/,
    'nothing answers: look at firewalls, and whether the port speaks TLS if the URL says rediss',
  ],
  [/altnames/, 'its certificate is for another name: write that name in the URL, or set tls: { servername }'],
  [/cert|self.signed|issuer|altnames/i, 'trust its certificate: NODE_EXTRA_CA_CERTS=ca.pem, or the option tls: { ca }'],
  [/wrong version number|packet length|record layer|EPROTO/i, 'the port speaks no TLS: write redis:// for rediss://'],
  [/cluster support disabled/, 'the server is no cluster: write redis:// for redis-cluster://'],
  [/OOM/, 'the server is full: give it more memory (maxmemory), or a server of its own'],
  [/MISCONF/, 'the server cannot save to disk and refuses writes: free its disk, see its log'],
  [/READONLY/, 'this is a replica: give the address of the primary'],
  [/LOADING/, 'the server is reading its data: wait until it is done'],
  [
    /MASTERDOWN|CLUSTERDOWN|no server is known/,
    'bring back the missing nodes: CLUSTER INFO and CLUSTER SHARDS say which',
  ],
  [
    /closed|ECONNRESET|EPIPE/i,
    'the server hangs up: if the port speaks TLS write rediss://, else see the log of the server',
  ],
];

/** Advice for a failure, in one line. */
export function fixFor(message: string): string {
  return FIXES.find(([pattern]) => pattern.test(message))?.[1] ?? 'see the log of the server';
}

/** Failures that no waiting mends. */
export function isLasting(message: string | undefined): boolean {
  return message !== undefined && /WRONGPASS|NOAUTH|cert|wrong version number|cluster support disabled/i.test(message);
}

/** True when the user lacks a right, which a check may then name. */
export function lacksRight(error: unknown): boolean {
  return /NOPERM|unknown command|unknown subcommand/i.test(messageOf(error));
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
