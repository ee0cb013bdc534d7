import { fixedWindow } from 'comporta';
import { withRateLimit } from 'comporta/next';
import type { NextRequest } from 'next/server';

export const POST = withRateLimit(
  async (request: NextRequest) => {
    const isRight = (await request.text()) === 'right';
    return Response.json({ isRight }, { status: isRight ? 200 : 401 });
  },
  {
    name: 'login',
    limits: fixedWindow({ limit: 2, window: '1d', align: 'first-hit' }),
    count: 'failures',
    trustedProxies: ['loopback'],
  },
);
