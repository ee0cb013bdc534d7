/** What to do about a failure, by the words that servers, sockets and TLS use for it; first match wins. */
const FIXES: readonly (readonly [RegExp, string])[] = [
  [/protected mode/, 'the server takes only local connections: give it a password (requirepass), or protected-mode no'],
  [/max number of clients/, 'the server has no room for one more connection: raise maxclients, or see who keeps them'],
  [/DB index|invalid DB/, 'write a database that there is: 0 to 15 by default (setting `databases` of the server)'],
  [/SELECT is not allowed/, 'this is a cluster: write redis-cluster://, without a database'],
  [/client is not open/, 'call `await client.connect()`, and see what it rejects with'],
  [/subscriber mode/, 'give the store a client of its own: client.duplicate()'],
  [
    /unknown command .?SENTINEL/i,
    'no Sentinel listens there: write redis:// or redis-cluster:// for redis-sentinel://',
  ],
  [/unknown command .?CLUSTER/i, 'no node of a cluster: write redis:// or redis-sentinel:// for redis-cluster://'],
  [/know no primary named/, 'write the name of the Sentinels: SENTINEL MASTERS lists them'],
  [/serves no slots/, 'join nodes and give them slots: redis-cli --cluster create HOST:PORT HOST:PORT HOST:PORT'],
  [
    /still connecting|no answer|[Ss]ocket timeout/,
    'nothing answers there: a frozen server, a firewall, or a port that speaks TLS or is of another program',
  ],
  [/WRONGPASS/, 'user or password is wrong: redis://USER:PASSWORD@host, with special characters percent-encoded'],
  [/NOAUTH/, 'the server wants a password: redis://USER:PASSWORD@host, or redis://:PASSWORD@host for the default user'],
  [/NOPERM.*key|access.*keys?\b.*permission/, 'let the user use our keys: ACL SETUSER name ~cmp1:*'],
  [/NOPERM|no permission|can't run this command|ACL/, 'grant the least rights of docs/redis.md: ACL SETUSER name +...'],
  [/ECONNREFUSED/, 'nothing listens there: start the server, or correct host and port'],
  [/ENOTFOUND|EAI_AGAIN/, 'the host name is not known to DNS: correct it, or the resolver of this machine'],
  [
    /ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|[Cc]onnection timeout/,
    'nothing answers: look at firewalls between; with rediss:// the port may speak no TLS, then write redis://',
  ],
  [/altnames/, 'its certificate is for another name: write that name in the URL, or set tls: { servername }'],
  [/cert|self.signed|issuer|altnames/i, 'trust its certificate: NODE_EXTRA_CA_CERTS=ca.pem, or the option tls: { ca }'],
  [/wrong version number|packet length|record layer|EPROTO/i, 'the port speaks no TLS: write redis:// for rediss://'],
  [/cluster support disabled/, 'the server is no cluster: write redis:// for redis-cluster://'],
  [/OOM/, 'the server is full: give it more memory (maxmemory), or a server of its own'],
  [/MISCONF/, 'the server cannot save to disk and refuses writes: free its disk, see its log'],
  [/READONLY/, 'this is a replica: give the address of the primary'],
  [/^MOVED/, 'this is a cluster: write redis-cluster://, or use a Cluster client'],
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

const LASTING: readonly RegExp[] = [
  /WRONGPASS|NOAUTH|protected mode|DB index|SELECT is not allowed/,
  /cert|wrong version number|cluster support disabled|unknown command/i,
];

/** Failures that no waiting mends. */
export function isLasting(message: string | undefined): boolean {
  return message !== undefined && LASTING.some((pattern) => pattern.test(message));
}

/** True when the user lacks a right, which a check may then name. */
export function lacksRight(error: unknown): boolean {
  return /NOPERM|unknown command|unknown subcommand/i.test(messageOf(error));
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
