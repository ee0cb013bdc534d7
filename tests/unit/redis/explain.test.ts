import { expect, test } from 'vitest';
import { fixFor } from '../../../packages/comporta/src/redis/explain.js';

/** What servers and clients say, word for word, where a test cannot bring a real one to say it or need not. */
test.each([
  [
    'DENIED Redis is running in protected mode because protected mode is enabled and no password is set for the default user.',
    /requirepass/,
  ],
  [
    'DENIED Running in protected mode because protected mode is enabled and no password is set for the default user.',
    /requirepass/,
  ],
  ['ERR max number of clients reached', /maxclients/],
  ['ERR max number of clients + cluster connections reached', /maxclients/],
  ['ERR DB index is out of range', /0 to 15/],
  ['ERR SELECT is not allowed in cluster mode', /redis-cluster:/],
  ["ERR unknown command 'SENTINEL', with args beginning with: 'GET-MASTER-ADDR-BY-NAME'", /no Sentinel listens/],
  ['ERR This instance has cluster support disabled', /the server is no cluster/],
  ["READONLY You can't write against a read only replica.", /address of the primary/],
  ['MOVED 15495 127.0.0.1:7002', /redis-cluster:/],
  ['WRONGPASS invalid username-password pair or user is disabled.', /user or password is wrong/],
  ['NOAUTH HELLO must be called with the client already authenticated', /wants a password/],
  ['getaddrinfo ENOTFOUND redis.internal', /not known to DNS/],
  ["Hostname/IP does not match certificate's altnames", /servername/],
  ['something that nobody has seen before', /^see the log of the server$/],
])('advice for %j', (message, fix) => {
  expect(fixFor(message)).toMatch(fix);
});
