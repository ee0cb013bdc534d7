// What all servers of the benchmark of the rate limit service enforce: one limit that nobody reaches, for each user.
export const DOMAIN = {
  domain: 'shop',
  descriptors: [{ key: 'user', rate_limit: { requests_per_unit: 10_000_000, unit: 'hour' } }],
};

/** Users with a counter of their own. */
export const USERS = 10_000;
