import { z } from 'zod';
import { address, drainDelay, duration, secretText, text } from '../config/fields.js';
import type { ApiConfig } from '../config/types.js';
import { tlsSchema } from './tls.js';

const HOUR_MS = 3_600_000;
const TOKENS_MAX = 20;

const isToken = (value: string): boolean => /^[\x21-\x7e]{16,1024}$/.test(value);
const token: z.ZodType<string> = secretText(isToken, '16 to 1024 visible ASCII characters without spaces');

/** One token stands for a list of one; no message shows what was given. */
const tokens: z.ZodType<readonly string[]> = z
  .preprocess((value) => (typeof value === 'string' || typeof value === 'number' ? [value] : value), z.array(token))
  .refine((list) => list.length >= 1 && list.length <= TOKENS_MAX, `expected 1 to ${TOKENS_MAX} tokens`)
  .meta({ type: 'array', items: { type: 'string' } });

/** The `api` section. What depends on other fields is checked in `check.ts`. */
export const apiSchema: z.ZodType<ApiConfig> = z.strictObject({
  listen: address.describe('Address of the API, `host:port`. A restart applies changes.'),
  tokens: tokens
    .optional()
    .describe(
      'What callers must show as bearer token: one or a list, of at least 16 characters each. To take all away takes a restart.',
    ),
  public: z
    .boolean()
    .default(false)
    .describe('Listen beyond this machine although neither `tokens` nor `tls.ca` keeps strangers out.'),
  tls: tlsSchema
    .optional()
    .describe('Speak TLS. The files are read again when they change; a restart applies the rest.'),
  authorize: z
    .union([z.boolean(), z.array(z.string()).min(1)])
    .optional()
    .describe(
      'Serve `/v1/authorize` to the proxies in `trustedProxies`: for all policies, or for those in a list of names.',
    ),
  store: z
    .strictObject({ tokens: tokens.describe('What callers must show as bearer token, as in `api.tokens`.') })
    .optional()
    .describe("Serve the store at `/v1/store` to processes that use the library's `httpStore`."),
  cors: z
    .array(text(/^https?:\/\/[^/?#\s*]+$/, 'an origin such as https://app.example.com'))
    .min(1)
    .max(100)
    .optional()
    .describe('Origins whose pages may call the API from a browser. None when left out.'),
  maxBodyBytes: z
    .int()
    .min(1024)
    .max(4_194_304)
    .default(65_536)
    .describe('Larger request bodies are answered with 413.'),
  requestTimeout: duration(100, HOUR_MS)
    .prefault('10s')
    .describe('Time that a caller has to send a whole request. A restart applies changes.'),
  idleTimeout: duration(100, HOUR_MS)
    .prefault('65s')
    .describe('How long an unused connection stays open. A restart applies changes.'),
  drainDelay: drainDelay.describe(
    'After SIGTERM `/readyz` is 503 for so long while requests are answered still: more than load balancers and probes need to hear of it.',
  ),
});
