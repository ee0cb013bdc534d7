import { z } from 'zod';
import type { AccessLogConfig } from '../config/types.js';

const ALL: AccessLogConfig = { sample: 1, client: 'hashed', path: true };

const settings = z.strictObject({
  sample: z
    .number()
    .gt(0)
    .max(1)
    .default(ALL.sample)
    .describe('Part of the requests that get a line: 0.1 is one in ten, chosen at random.'),
  client: z
    .enum(['hashed', 'plain', 'none'])
    .default(ALL.client)
    .describe(
      'How clients are named: `hashed` with a key that changes at each start, by their `plain` address, or not.',
    ),
  path: z.boolean().default(ALL.path).describe('Write the path beside the route. The query is never written.'),
});

/** The `accessLog` section: nothing of `false` is left. */
export const accessLogSchema: z.ZodType<AccessLogConfig | undefined> = z
  .union([z.boolean(), settings])
  .transform((value) => (typeof value === 'object' ? value : value ? ALL : undefined));
