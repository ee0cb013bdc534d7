import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { filesIn, isGenerated, read, root } from './source.js';

const FOLDER = 'packages/comporta/src/algorithms';
const namesOf = (ending: string): string[] => {
  const paths = filesIn([FOLDER], [ending]);
  return paths.map((path) => path.slice(FOLDER.length + 1, -ending.length)).sort();
};

test('generated files say so in their first line', () => {
  const files = filesIn(['packages', 'tests'], ['.ts']).filter(isGenerated);
  expect(files.length).toBeGreaterThan(0);
  for (const file of files) expect(read(file).split('\n')[0]).toMatch(/^\/\/ Made by scripts\//);
});

test('every algorithm has its three files', () => {
  const algorithms = namesOf('.lua').filter((name) => !name.startsWith('includes/'));
  expect(algorithms.length).toBeGreaterThan(0);
  expect(namesOf('.vectors.json')).toEqual(algorithms);
  expect(algorithms.filter((name) => !namesOf('.ts').includes(name))).toEqual([]);
});

test('a changed Lua file makes the check of generated files fail', () => {
  const copy = mkdtempSync(join(tmpdir(), 'comporta-gen-'));
  const check = (): Buffer =>
    execFileSync(process.execPath, ['scripts/gen.mjs', '--check'], { cwd: copy, stdio: 'pipe' });
  try {
    for (const path of ['scripts', FOLDER]) cpSync(join(root, path), join(copy, path), { recursive: true });
    expect(check).not.toThrow();
    const lua = `${FOLDER}/${namesOf('.lua')[0]}.lua`;
    const changed = read(lua).replace(/^local function evaluate\(.*\)$/m, '$&\n  local changed = 1');
    writeFileSync(join(copy, lua), changed);
    expect(check).toThrow('stale');
  } finally {
    rmSync(copy, { recursive: true });
  }
});
