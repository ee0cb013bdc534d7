import { parseStoreUrl } from 'comporta/redis';
import { z } from 'zod';
import { secretText, text } from './fields.js';
import type { StoreConfig, TlsConfig } from './types.js';

function isStoreUrl(value: string): boolean {
  try {
    parseStoreUrl(value);
    return true;
  } catch {
    return false;
  }
}

/** Checked by hand because a wrong address may hold a password, which no message may repeat. */
const storeAddress: z.ZodType<string> = z
  .string()
  .refine((value) => value === 'memory' || isStoreUrl(value), {
    error:
      'expected memory, redis://host:port, redis-cluster://host:port,host:port, redis-sentinel://host:port/name, or rediss... for TLS',
  })
  .meta({ examples: ['memory', 'redis://127.0.0.1:6379', 'redis-cluster://10.0.0.1:6379,10.0.0.2:6379'] });

const file = (what: string): z.ZodType<string | undefined> => z.string().min(1).optional().describe(what);

const tlsSchema: z.ZodType<TlsConfig> = z.strictObject({
  ca: file("File with the certificates to trust in place of the system's, in PEM."),
  cert: file("File with this server's own certificate, for a store that asks for one."),
  key: file('File with the key of `cert`.'),
  servername: z.string().min(1).optional().describe('Name in the certificate, when it is not the host of `url`.'),
  rejectUnauthorized: z
    .boolean()
    .default(true)
    .describe('`false` takes any certificate, so that anybody in between can read along: for tests only.'),
});

const place = text(/^[^\s:]+:\d{1,5}$|^\[[0-9a-fA-F:.]+\]:\d{1,5}$/, 'host:port');
const loginPart = secretText((value) => value !== '', 'text; quote it when it is digits only');

/** An address alone, or with what a connection to it needs beside. */
export const storeSchema: z.ZodType<StoreConfig> = z
  .union([
    storeAddress,
    z.strictObject({
      url: storeAddress.describe('Address, as in the short form `store: URL`.'),
      tls: tlsSchema.optional().describe("For `rediss…`. File names are relative to this file's folder."),
      natMap: z
        .record(place, place)
        .optional()
        .describe(
          'Where to connect for an address that a cluster or Sentinels name: `{ "10.0.0.1:6379": "redis.example.com:7001" }`.',
        ),
      sentinel: z
        .strictObject({
          username: loginPart.optional().describe('User at the Sentinels.'),
          password: loginPart.optional().describe('Password at the Sentinels.'),
        })
        .optional()
        .describe("Login at the Sentinels; the address's is for the servers that hold data."),
    }),
  ])
  .transform((value): StoreConfig => (typeof value === 'string' ? { url: value } : value))
  .prefault('memory')
  .describe(
    'Where counts live: `memory` (this process), `redis://…`, `redis-cluster://host:port,host:port`, `redis-sentinel://host:port,host:port/name`, or `rediss…` for TLS. Fields in place of the address add settings of the connection. A restart applies changes.',
  );
