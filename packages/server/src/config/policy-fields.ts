import { z } from 'zod';
import { durationText, oneOrMany } from './fields.js';
import { limitSchema } from './limits.js';
import type { AccessConfig, PolicyConfig } from './types.js';

/** Fields of a policy that are more than one value; what the library checks itself is not checked here. */

const YEARS_10_MS = 10 * 366 * 86_400_000;

export const countSchema: z.ZodType<PolicyConfig['count']> = z
  .enum(['all', 'failures', 'successes'])
  .default('all')
  .describe(
    'Which requests stay charged once their response has ended: `failures` are those with a status of 400 or more and those without a whole answer, `successes` the others.',
  );

export const holdSchema: z.ZodType<PolicyConfig['hold']> = z
  // Of a union the first branch says what is wrong.
  .union([durationText(1, 60_000, ', or false'), z.literal(false)])
  .optional()
  .describe(
    'How long, at most, a refused subject is refused without asking the store, `1ms` to `60s`; `false` asks each time. `20ms` when left out.',
  );

export const leaseSchema: z.ZodType<PolicyConfig['lease']> = z
  .strictObject({
    maxOvershoot: z
      .union([z.string(), z.int()])
      .describe('How far all processes together may go beyond each limit: a part of it such as `5%`, or units.'),
    lasts: durationText(10, 1000).optional().describe('How long they may be used; `100ms` when left out.'),
    strict: z
      .boolean()
      .optional()
      .describe('Sliding windows: never beyond the limit; what is admitted then counts for `lasts` longer.'),
  })
  .optional()
  .describe('Units fetched ahead for hot subjects, which each process then decides for by itself.');

export const splitSchema: z.ZodType<PolicyConfig['split']> = z
  .strictObject({
    parts: z.int().min(2).max(64).describe('How many; each has its part of every limit, 16 at least.'),
    subjects: z
      .array(z.string().min(1))
      .min(1)
      .max(1000)
      .optional()
      .describe('Which subjects, as decisions name them; all of the policy when left out.'),
  })
  .optional()
  .describe(
    'Subjects that live in several parts, so that the load of one spreads over the masters of a Redis Cluster.',
  );

export const plansSchema: z.ZodType<PolicyConfig['plans']> = z
  .record(z.string(), oneOrMany(limitSchema))
  .optional()
  .describe('Limits of further plans, by name. Everybody else has `limits`.');

export const planSchema: z.ZodType<PolicyConfig['plan']> = z
  .union([
    z.string(),
    z.strictObject({
      by: z.string().describe('The source that is looked up, written as in `key`.'),
      of: z.record(z.string(), z.string()).describe('Plans, by the values of the source.'),
    }),
  ])
  .optional()
  .describe('Where the name of the plan is read: a source as in `key`, or a table.');

export const blocksSchema: z.ZodType<PolicyConfig['blocks']> = z
  .union([
    z.literal(true),
    z.strictObject({
      after: z.int().min(1).max(1_000_000).describe('Refusals that shut a subject out.'),
      within: durationText(1, YEARS_10_MS).describe('Time in which they are counted.'),
      lasts: durationText(1, YEARS_10_MS).describe('How long the subject is shut out.'),
    }),
  ])
  .optional()
  .describe('Subjects can be blocked: by hand (`true`), and by themselves after too many refusals.');

const addresses: z.ZodType<readonly string[]> = oneOrMany(z.string());

const accessSchema: z.ZodType<AccessConfig> = z.union([
  z.strictObject({
    addresses: addresses.optional().describe('Addresses, CIDRs, or `loopback` and `private`.'),
    subjects: z
      .array(z.union([z.string(), z.array(z.string())]))
      .optional()
      .describe("Exact values of the policy's key; a list of texts for each where the key is a list."),
  }),
  addresses,
]);

export const allowSchema: z.ZodType<AccessConfig | undefined> = accessSchema
  .optional()
  .describe('Requests that the policy does not apply to: a list of addresses and CIDRs, or fields.');

export const denySchema: z.ZodType<AccessConfig | undefined> = accessSchema
  .optional()
  .describe('Requests that are refused with 403 and not counted, written as `allow`; comes before it.');

export const allowAllSchema: z.ZodType<readonly string[] | undefined> = addresses
  .optional()
  .describe('Addresses and CIDRs of clients that no policy applies to.');

export const denyAllSchema: z.ZodType<readonly string[] | undefined> = addresses
  .optional()
  .describe('Addresses and CIDRs of clients that are refused with 403; comes before `allow`.');

export const shadowSchema: z.ZodType<PolicyConfig['shadow']> = z
  .union([
    z.boolean(),
    z.strictObject({
      percent: z.number().min(0).max(100).describe('Per cent of the subjects for whom the policy is not enforced.'),
    }),
  ])
  .default(false)
  .describe('Decide and report, but never refuse: for everybody, or for some of the subjects.');
