import { fixedWindow } from 'comporta';
import { withRateLimit } from 'comporta/next';
import type { NextRequest } from 'next/server';

interface Context {
  readonly params: Promise<{ readonly id: string }>;
}

// No proxy is trusted here: what a client writes into X-Forwarded-For does not matter.
export const GET = withRateLimit(
  async (request: NextRequest, { params }: Context) => {
    return Response.json({ id: (await params).id, forwardedFor: request.headers.get('x-forwarded-for') });
  },
  {
    name: 'users',
    limits: fixedWindow({ limit: 3, window: '1d', align: 'first-hit' }),
    match: { path: '/api/users/:id' },
    key: ['ip', 'path:id'],
    cost: ({ request }) => (request.nextUrl.searchParams.has('free') ? 0 : 1),
  },
);
