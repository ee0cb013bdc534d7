import type { FailureMode } from 'comporta';
import { z } from 'zod';
import { address, duration, oneOrMany, text } from '../config/fields.js';
import type { Address } from '../config/types.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** The section as the file has it; durations are in milliseconds, names of files as written. */
export interface EnvoyConfig {
  readonly listen: Address;
  readonly config: readonly string[];
  readonly mode: 'compatible' | 'strict';
  readonly headers: boolean;
  readonly shadow: boolean;
  readonly quota: boolean;
  readonly mergeDomains: boolean;
  readonly stopWhenOver: boolean;
  readonly timeout: number;
  readonly onStoreFailure?: FailureMode | undefined;
  readonly tls?: EnvoyTlsConfig | undefined;
  readonly keepalive: number;
  readonly maxConnectionAge: number;
  readonly maxConnectionAgeGrace: number;
  readonly maxMessageBytes: number;
  readonly maxConcurrentCalls: number;
  readonly drainDelay: number;
  readonly drainTime: number;
}

export interface EnvoyTlsConfig {
  readonly cert: string;
  readonly key: string;
  readonly ca?: string | undefined;
}

const file = text(/\S/, 'the name of a file');

const tlsSchema: z.ZodType<EnvoyTlsConfig> = z.strictObject({
  cert: file.describe('File with the certificate in PEM form, with those that it needs above it.'),
  key: file.describe('File with the key of the certificate in PEM form.'),
  ca: file.optional().describe('File with the certificate that signs those of clients: they must then show one.'),
});

/** The `envoy` section. */
export const envoySchema: z.ZodType<EnvoyConfig> = z.strictObject({
  listen: address.describe('Address of the gRPC service, `host:port`. A restart applies changes.'),
  config: oneOrMany(file).describe(
    'Files of domains as envoyproxy/ratelimit has them, or folders of such files (`*.yaml`, `*.yml`, `*.json`). Changes are applied while running.',
  ),
  mode: z
    .enum(['compatible', 'strict'])
    .default('compatible')
    .describe(
      '`compatible` decides as envoyproxy/ratelimit does; `strict` charges all descriptors or none, and knows limits with algorithms.',
    ),
  headers: z.boolean().default(false).describe('Add `RateLimit-*` fields to the responses of clients.'),
  shadow: z.boolean().default(false).describe('Refuse nobody; the answers still say what each limit would do.'),
  quota: z.boolean().default(false).describe('All rules are as in `quota_mode`: a request is refused when all refuse.'),
  mergeDomains: z.boolean().default(false).describe('Several files may describe the same domain.'),
  stopWhenOver: z
    .boolean()
    .default(false)
    .describe('In mode `compatible`: look first, and charge nothing when a limit is over. Two round trips a call.'),
  timeout: duration(1, 60_000)
    .prefault('10ms')
    .describe(
      "Hard limit on each decision, in place of the file's: Envoy waits 20 ms unless told otherwise. A caller's own deadline holds where it is nearer.",
    ),
  onStoreFailure: z
    .enum(['local', 'open', 'closed'])
    .optional()
    .describe(
      "What to do when the store cannot answer; the file's `onStoreFailure` when left out. `closed` answers UNAVAILABLE, and Envoy then does as its `failure_mode_deny` says.",
    ),
  tls: tlsSchema.optional().describe('Speak TLS. Changed files are read again while running; open connections go on.'),
  keepalive: duration(1000, DAY_MS)
    .prefault('1m')
    .describe('A connection that was silent for so long is asked for a sign of life. A restart applies changes.'),
  maxConnectionAge: duration(1000, 365 * DAY_MS)
    .prefault('1d')
    .describe(
      'Older connections are ended politely, so that load spreads over new instances. A restart applies changes.',
    ),
  maxConnectionAgeGrace: duration(0, DAY_MS)
    .prefault('1h')
    .describe('Time that calls have to finish on a connection that was ended for its age. A restart applies changes.'),
  maxMessageBytes: z
    .int()
    .min(1024)
    .max(64 * 1024 * 1024)
    .default(4 * 1024 * 1024)
    .describe('Larger requests are answered RESOURCE_EXHAUSTED. A restart applies changes.'),
  maxConcurrentCalls: z
    .int()
    .min(1)
    .max(1_000_000)
    .default(10_000)
    .describe('Most calls at once on one connection; others wait at the client. A restart applies changes.'),
  drainDelay: duration(0, HOUR_MS)
    .prefault('3s')
    .describe(
      'After SIGTERM health says NOT_SERVING for so long before connections are ended: more than clients need to hear of it.',
    ),
  drainTime: duration(0, HOUR_MS).prefault('10s').describe('Time that calls have to finish after that.'),
});
