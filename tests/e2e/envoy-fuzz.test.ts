import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root } from './cli-support.js';

test('odd requests over gRPC and HTTP neither end the service nor fill its memory, and all are answered', () => {
  const said = execFileSync(process.execPath, [join(root, 'scripts/fuzz.mjs'), '--seconds', '2'], { encoding: 'utf8' });
  expect(said).toMatch(
    /^grpc: \d{3,} requests answered, \d+ MB in use\njson: \d{3,} requests answered, \d+ MB in use$/m,
  );
});
