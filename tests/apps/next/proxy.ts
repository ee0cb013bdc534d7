import { fixedWindow } from 'comporta';
import { rateLimitProxy } from 'comporta/next';
import { type NextRequest, NextResponse } from 'next/server';

export const proxy = rateLimitProxy(
  {
    name: 'site',
    limits: fixedWindow({ limit: 5, window: '1d', align: 'first-hit' }),
    match: { path: ['/', '/old', '/form'], methods: ['GET'] },
    trustedProxies: ['loopback'],
    // The request's type is that of the proxy below.
    allow: ({ request }) => request.nextUrl.searchParams.has('health'),
  },
  (request: NextRequest) => {
    if (request.nextUrl.pathname === '/old') return NextResponse.redirect(new URL('/', request.url));
    if (request.nextUrl.pathname === '/form') return undefined;
    return NextResponse.next({ headers: { 'x-own-proxy': 'yes' } });
  },
);

// Next wants these patterns as literals. What is not matched never reaches the proxy and is not counted.
export const config = { matcher: ['/((?!_next/static|_next/image|files/).*)'] };
