import { memoryStore } from 'comporta';
import { expect, test } from 'vitest';
import { loadDomains } from '../../../packages/server/src/envoy/load.js';
import { BadRequest } from '../../../packages/server/src/envoy/request.js';
import { RateLimitService } from '../../../packages/server/src/envoy/service.js';
import { LIMIT_MAX } from '../../../packages/server/src/envoy/units.js';

const domainOf = (limit: number): string =>
  `domain: shop\ndescriptors: [{ key: user, rate_limit: { requests_per_unit: ${limit}, unit: day } }]`;

const load = (limit: number) => loadDomains([{ file: 'shop.yaml', text: domainOf(limit) }], { mode: 'strict' });

test('a limit above the most that can be counted is refused with the file', () => {
  expect(load(LIMIT_MAX)).not.toHaveProperty('problems');
  expect(load(LIMIT_MAX + 1)).toHaveProperty('problems', [
    { file: 'shop.yaml', problem: expect.objectContaining({ path: 'descriptors[0].rate_limit.requests_per_unit' }) },
  ]);
});

test('and is its sender’s fault where a request brings it', () => {
  const loaded = load(1);
  if ('problems' in loaded) throw new Error('unusable');
  const service = new RateLimitService(loaded.domains, { mode: 'strict', limiters: { store: memoryStore() } });
  const decide = (requestsPerUnit: number) => {
    const entries = [{ key: 'user', value: 'a' }];
    return service.decide({
      domain: 'shop',
      hitsAddend: 0,
      descriptors: [{ entries, limit: { requestsPerUnit, unit: 4 } }],
    });
  };
  expect(() => decide(2 ** 32 - 1)).toThrow(BadRequest);
  expect(decide(LIMIT_MAX)).toMatchObject({ isOver: false });
});
