import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tool } from './run.mjs';

/** Runs one project of vitest.config.ts; resolves to `{ ok, output, passed, failed, note }`. */
export async function runVitest(project, { live = false } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'comporta-vitest-'));
  const file = join(folder, 'report.json');
  try {
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
    const result = await tool('vitest', ['run', '--project', project, '--passWithNoTests', ...reporters], {
      live,
    });
    return { ...result, ...count(file, result.ok) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A file that broke before its first test counts as one failure, and so does a run that broke otherwise. */
function count(file, ok) {
  const report = read(file);
  const broken = report.testResults.filter(({ status, assertionResults }) => {
    return status === 'failed' && !assertionResults.some((test) => test.status === 'failed');
  });
  const passed = report.numPassedTests;
  const failed = Math.max(report.numFailedTests + broken.length, ok ? 0 : 1);
  const skipped = report.numPendingTests + report.numTodoTests;
  const note = [`${passed} passed`, failed > 0 && `${failed} failed`, skipped > 0 && `${skipped} skipped`];
  return { passed, failed, note: note.filter(Boolean).join(', ') };
}

function read(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return { testResults: [], numPassedTests: 0, numFailedTests: 0, numPendingTests: 0, numTodoTests: 0 };
  }
}
