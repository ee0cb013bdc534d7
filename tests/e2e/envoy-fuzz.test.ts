import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root } from './cli-support.js';

test('random and mutated bytes neither end the service nor fill its memory', () => {
  const said = execFileSync(process.execPath, [join(root, 'scripts/fuzz.mjs'), '--seconds', '5'], { encoding: 'utf8' });
  expect(said).toMatch(/^\d{4,} calls answered, \d+ MB in use$/m);
});
