import type { FailureMode } from 'comporta';
import type { HeaderForm } from 'comporta/http';
import { z } from 'zod';
import { accessLogSchema } from '../access-log/schema.js';
import { adminSchema } from '../admin/schema.js';
import { alertsSchema } from '../alerts/schema.js';
import { apiSchema } from '../api/schema.js';
import { envoySchema } from '../envoy/schema.js';
import { address, drainDelay, duration, oneOrMany, text } from './fields.js';
import { limitSchema } from './limits.js';
import {
  allowAllSchema,
  allowSchema,
  blocksSchema,
  countSchema,
  denyAllSchema,
  denySchema,
  holdSchema,
  leaseSchema,
  planSchema,
  plansSchema,
  shadowSchema,
  splitSchema,
} from './policy-fields.js';
import { storeSchema } from './store-schema.js';
import type { FileConfig, GatewayConfig, MatchConfig, PolicyConfig, RouteConfig } from './types.js';

const HOUR_MS = 3_600_000;

const failureMode: z.ZodType<FailureMode> = z.enum(['local', 'open', 'closed']);
const headerForm: z.ZodType<HeaderForm> = z.enum(['draft-11', 'draft-7', 'draft-6', 'legacy', 'none']);

const instances: z.ZodType<number | 'auto'> = z.union([z.literal('auto'), z.int().min(1).max(100_000)]);

const workers: z.ZodType<number | 'auto'> = z.union([z.literal('auto'), z.int().min(1).max(128)]);

const matchSchema: z.ZodType<MatchConfig> = z.strictObject({
  path: oneOrMany(text(/^\//, 'a path that starts with "/"'))
    .optional()
    .describe('Path patterns: `/api/*` (any depth below), `/users/:id`, or a list of such patterns.'),
  methods: oneOrMany(text(/^[A-Z]+$/, 'an upper-case method such as GET'))
    .optional()
    .describe('Upper-case method names.'),
  hosts: oneOrMany(text(/^(\*\.)?[a-z0-9_.:[\]-]+$/, 'a lower-case host name such as api.example.com or *.example.com'))
    .optional()
    .describe('Host names without port; `*.example.com` matches every name below example.com.'),
});

const policySchema: z.ZodType<PolicyConfig> = z.strictObject({
  name: text(/^[A-Za-z0-9_.-]{1,64}$/, '1 to 64 characters of A-Z a-z 0-9 _ . -').describe(
    'Unique name, part of every stored key and shown in the rate-limit headers.',
  ),
  match: matchSchema
    .optional()
    .describe('Requests that the policy applies to: all given parts must match. All requests when left out.'),
  key: oneOrMany(z.string())
    .prefault('ip')
    .describe(
      'Who is counted: `ip`, `header:NAME`, `cookie:NAME`, `jwt:CLAIM`, `query:NAME`, `path:PARAM` or `global`; a list makes one subject of all its parts.',
    ),
  limits: oneOrMany(limitSchema)
    .refine((limits) => limits.length <= 8, 'expected at most 8 limits')
    .describe(
      'One limit or a list of up to 8; a request passes when all admit it, and only then is any of them charged.',
    ),
  cost: z.int().min(0).max(Number.MAX_SAFE_INTEGER).default(1).describe('What one request costs; 0 only looks.'),
  timeout: duration(1, 60_000)
    .optional()
    .describe("Hard limit on each decision of this policy; the file's `timeout` when left out."),
  onStoreFailure: failureMode
    .optional()
    .describe("What to do when the store cannot answer; the file's `onStoreFailure` when left out."),
  instances: instances
    .optional()
    .describe(
      "How many processes share the limits in mode `local`, and the units of `lease`; the file's `instances` when left out.",
    ),
  hold: holdSchema,
  lease: leaseSchema,
  split: splitSchema,
  count: countSchema,
  plans: plansSchema,
  plan: planSchema,
  blocks: blocksSchema,
  overrides: z
    .boolean()
    .optional()
    .describe('Subjects may have limits of their own, kept in the store. `false` when left out.'),
  revision: z
    .int()
    .min(0)
    .max(Number.MAX_SAFE_INTEGER)
    .optional()
    .describe('Number that grows with every change of the limits: during a roll-out the newest decides.'),
  allow: allowSchema,
  deny: denySchema,
  shadow: shadowSchema,
});

const routeSchema: z.ZodType<RouteConfig> = z.strictObject({
  path: text(/^\/[^?#\s]*$/, 'a path that starts with "/"').describe(
    'Path prefix, by whole segments: `/api` takes `/api` and `/api/x`, not `/apix`.',
  ),
  host: text(/^(\*\.)?[a-z0-9_.-]+$/, 'a lower-case host name such as api.example.com or *.example.com')
    .optional()
    .describe('Host name without port, `*.example.com` allowed. Every host when left out.'),
  upstream: text(/^(echo|https?:\/\/[^/?#\s@]+\/?)$/, 'http://host:port, https://host:port or echo').describe(
    'Where matching requests go: an origin, or `echo`, a built-in service that answers with what it received.',
  ),
  timeout: duration(1, HOUR_MS)
    .prefault('30s')
    .describe("Longest wait for the upstream's response headers, and for each part of a request's body."),
  stripPrefix: z.boolean().default(false).describe("Remove the route's path from the forwarded path."),
  preserveHost: z.boolean().default(false).describe("Forward the client's Host header instead of the upstream's own."),
});

const gatewaySchema: z.ZodType<GatewayConfig> = z.strictObject({
  listen: address.describe('Address of the gateway, `host:port`. A restart applies changes.'),
  routes: z.array(routeSchema).min(1).describe('Where requests go; the first route that matches takes the request.'),
  maxHeaderBytes: z
    .int()
    .min(1024)
    .max(1_048_576)
    .default(16_384)
    .describe('Larger request headers are answered with 431. A restart applies changes.'),
  maxBodyBytes: z
    .int()
    .min(0)
    .max(Number.MAX_SAFE_INTEGER)
    .optional()
    .describe('Larger request bodies are answered with 413. No bound when left out.'),
  headersTimeout: duration(100, HOUR_MS)
    .prefault('10s')
    .describe('Time that a client has to send its request headers. A restart applies changes.'),
  idleTimeout: duration(100, HOUR_MS)
    .prefault('65s')
    .describe(
      'How long an unused client connection stays open, and how long a client may stop reading. A restart applies changes.',
    ),
  upstreamConnections: z
    .int()
    .min(1)
    .max(65_535)
    .default(256)
    .describe('Most connections to one upstream. A restart applies changes.'),
  drainDelay: drainDelay.describe(
    'After SIGTERM the gateway takes connections for so long still, and ends each with its answer: as long as load balancers need to hear of the end.',
  ),
  drainTime: duration(0, HOUR_MS).prefault('10s').describe('Time that requests in flight have to finish after that.'),
});

/** Every field of the file, with its range, its default and its description. */
export const configSchema: z.ZodType<FileConfig> = z
  .strictObject({
    $schema: z.string().optional().describe('Location of the JSON Schema, for editors.'),
    store: storeSchema,
    workers: workers
      .default(1)
      .describe(
        'How many processes serve on the same ports, 1 to 128: `auto` is one for each processor, and one alone with `store: memory`. A restart applies changes.',
      ),
    timeout: duration(1, 60_000).prefault('50ms').describe('Hard limit on each decision, whatever the store does.'),
    onStoreFailure: failureMode
      .default('local')
      .describe(
        'When the store cannot answer in time: `local` counts in this process, `open` admits, `closed` refuses with 503.',
      ),
    instances: instances
      .default('auto')
      .describe(
        'How many processes share the limits in mode `local`, and the units of `lease`: `auto` counts those that last used the store.',
      ),
    payBack: z
      .boolean()
      .default(true)
      .describe('Charge the store, once it is back, with what mode `local` admitted in its place.'),
    trustedProxies: z
      .array(z.string())
      .default([])
      .describe('CIDRs, or `loopback` and `private`, of proxies whose forwarding header is believed. None by default.'),
    forwardedHeader: text(/^[!#$%&'*+.^_`|~0-9a-z-]+$/, 'a lower-case header name')
      .default('x-forwarded-for')
      .describe('The one header in which trusted proxies name the client.'),
    ipv6Prefix: z.int().min(32).max(128).default(64).describe('Bits of an IPv6 address that name one client.'),
    headers: oneOrMany(headerForm)
      .prefault('draft-11')
      .describe('Forms of the rate-limit response headers; a list sends several.'),
    countPreflight: z.boolean().default(false).describe('Count CORS preflight requests too.'),
    allow: allowAllSchema,
    deny: denyAllSchema,
    policies: z
      .array(policySchema)
      .default([])
      .describe('The rules. Every policy that matches a request must admit it.'),
    gateway: gatewaySchema.optional().describe('The reverse proxy.'),
    api: apiSchema.optional().describe('The HTTP API: decisions, forward-auth, health.'),
    envoy: envoySchema.optional().describe("Envoy's rate limit service over gRPC."),
    admin: adminSchema.optional().describe('The admin API: subjects, policies, nodes, audit log.'),
    accessLog: accessLogSchema
      .optional()
      .describe('A line of JSON on standard output for each request. Off when left out.'),
    alerts: alertsSchema.optional().describe('Whom to tell when the store fails. Nobody when left out.'),
  })
  .meta({ title: 'comporta.yaml', description: 'Configuration of the comporta server.' });
