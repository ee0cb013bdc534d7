import { expect, test } from 'vitest';
import { loadDomains } from '../../../packages/server/src/envoy/load.js';

function rateOf(text: string, key: string): object | undefined {
  const loaded = loadDomains([{ file: 'd.yaml', text }], { mode: 'compatible' });
  if ('problems' in loaded) throw new Error(JSON.stringify(loaded.problems));
  return loaded.domains.get('d')?.root.find({ key, value: '' })?.rule?.rate;
}

test("merge keys give what an anchor has; a rule's own fields win, and the first of several anchors", () => {
  const text = `domain: d
descriptors:
- {key: a, rate_limit: &day {unit: day, requests_per_unit: 1}}
- {key: b, rate_limit: &hour {unit: hour, requests_per_unit: 2, name: hourly}}
- {key: c, rate_limit: {<<: *day, requests_per_unit: 3}}
- {key: e, rate_limit: {requests_per_unit: 4, <<: *day}}
- {key: f, rate_limit: {<<: [*day, *hour]}}
`;
  expect(rateOf(text, 'c')).toEqual({ unit: 'DAY', requestsPerUnit: 3, name: '' });
  expect(rateOf(text, 'e')).toEqual({ unit: 'DAY', requestsPerUnit: 4, name: '' });
  expect(rateOf(text, 'f')).toEqual({ unit: 'DAY', requestsPerUnit: 1, name: 'hourly' });
});

test('what cannot be merged is refused with a hint', () => {
  const text = 'domain: d\nx: &x [1]\ndescriptors:\n- {<<: *x, key: a}\n';
  const loaded = loadDomains([{ file: 'd.yaml', text }], { mode: 'compatible' });
  const [first] = 'problems' in loaded ? loaded.problems : [];
  expect(first?.problem).toMatchObject({ message: 'only fields can be merged', hint: expect.stringContaining('<<') });
});
