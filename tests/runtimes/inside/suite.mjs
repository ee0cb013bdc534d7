// Runs the published suite on the adapters of this runtime; the last line says what failed.
import { adapterSuite } from 'comporta/testing';
import { doors } from './doors.mjs';

const [runtime] = process.argv.slice(2);
const failures = [];
let passed = 0;
for (const [adapter, start] of Object.entries(doors[runtime])) {
  for (const { name, run } of adapterSuite) {
    try {
      await run(start);
      passed++;
    } catch (error) {
      failures.push(`${adapter}: ${name}: ${error.message}`);
    }
  }
}
console.log(JSON.stringify({ passed, failures, cases: adapterSuite.length }));
process.exit();
