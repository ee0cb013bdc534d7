import { expect, test } from 'vitest';
import { Audit } from '../../../packages/server/src/admin/audit.js';
import { jsonText } from '../../../packages/server/src/cli/top.js';
import { recordLog } from '../../e2e/gateway-support.js';

test('refused calls drive no operation out of the audit log, and stand in their order with the others', () => {
  const audit = new Audit(recordLog().log);
  audit.record({ who: 'ann', operation: 'reset', status: 200 });
  for (let i = 0; i < 2000; i++) audit.record({ who: 'eve', operation: 'block', status: 403 });
  audit.record({ who: 'ann', operation: 'unblock', status: 503 });
  const entries = audit.latest(1000);
  expect(entries.map(({ result }) => result)).toEqual(['failed', ...Array(100).fill('refused'), 'done']);
  expect(audit.latest(2).map(({ who }) => who)).toEqual(['ann', 'eve']);
});

test('the hottest subjects as JSON hold nothing that steers a terminal, and read back the same', () => {
  const seen = { subjects: ['\u009b31m', '\u202eabc', 'a\u2028b', '\u{e0001}', 'línea', '😀'] };
  const text = jsonText(seen);
  expect(text).not.toMatch(/[^\P{C}\n]|[\u2028\u2029]/u);
  expect(text).toContain('"😀"');
  expect(JSON.parse(text)).toEqual(seen);
});
