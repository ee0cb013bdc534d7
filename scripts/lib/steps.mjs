// The fast checks, shared by `npm run check` and `npm test`.
import { run, step, tool } from './run.mjs';
import { runVitest } from './vitest.mjs';

const CACHE = 'node_modules/.cache/types.tsbuildinfo';

const generated = () => run(process.execPath, ['scripts/gen.mjs', '--check']);
const types = () => tool('tsc', ['-p', 'tsconfig.json', '--noEmit', '--incremental', '--tsBuildInfoFile', CACHE]);
const lint = () => tool('biome', ['check', '--error-on-warnings', '.']);

/** Everything that needs neither a server nor a build. Resolves to the results of all steps. */
export async function check() {
  const first = await step('generated files', generated);
  // Types take one core for about as long as lint and tests take the other.
  const [second, [third, fourth]] = await Promise.all([step('types', types), lintAndTest()]);
  return [first, second, third, fourth];
}

async function lintAndTest() {
  return [await step('lint', lint), await step('unit and property', () => runVitest('fast'))];
}

/** Steps that are no tests count as one failure each when they fail. */
export function total(results) {
  const passed = results.reduce((sum, result) => sum + (result.passed ?? 0), 0);
  const failed = results.reduce((sum, result) => sum + (result.failed ?? (result.ok ? 0 : 1)), 0);
  return { passed, failed };
}
