import { concurrency } from 'comporta';
import { withRateLimit } from 'comporta/next';
import type { NextRequest } from 'next/server';

/** One stream at a time for a client; its place is free again when the stream ends, in whatever way. */
export const GET = withRateLimit(
  (request: NextRequest) => {
    const isEndless = request.nextUrl.searchParams.has('endless');
    const start = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
      controller.enqueue(new TextEncoder().encode('first'));
      if (!isEndless) controller.close();
    };
    return new Response(new ReadableStream({ start }));
  },
  { name: 'streams', limits: concurrency({ limit: 1, lease: '1m' }), trustedProxies: ['loopback'] },
);
