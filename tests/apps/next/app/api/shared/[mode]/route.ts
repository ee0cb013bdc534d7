import { fixedWindow } from 'comporta';
import { withRateLimit } from 'comporta/next';
import { store } from '../../../../store';

const limits = fixedWindow({ limit: 20, window: '1d', align: 'first-hit' });

/** Counted by all processes together; the path says what happens when they cannot reach the store. */
export const GET = withRateLimit(() => new Response('counted'), {
  store,
  // Far more than it takes: no busy machine shall make an outage of it.
  timeoutMs: 2000,
  policies: [
    { name: 'closed', match: { path: '/api/shared/closed' }, key: 'global', limits, onStoreFailure: 'closed' },
    { name: 'open', match: { path: '/api/shared/open' }, key: 'global', limits, onStoreFailure: 'open' },
  ],
});
