import { fixedWindow } from 'comporta';
import { withRateLimit } from 'comporta/next';
import type { NextRequest } from 'next/server';

export const runtime = 'edge';

/** Where no socket can be seen, the address is what a platform vouches for. */
export const GET = withRateLimit((_: NextRequest) => new Response('from the edge'), {
  limits: fixedWindow({ limit: 2, window: '1d', align: 'first-hit' }),
  clientAddress: 'vercel',
});
