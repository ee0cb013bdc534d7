import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { freePort } from '../support/ports.js';
import { watch } from '../support/reap.js';
import { until } from '../support/wait.js';
import { buildStage, copiesOf, type Stage, stagesOf, wordsOf } from './dockerfile.js';
import { root } from './packed.js';

const DOCKERFILE = 'deploy/docker/Dockerfile';
const SIZE_MAX_BYTES = 32_000_000;
const USER = 65_532;

const stages = stagesOf(DOCKERFILE);
const stage = (name: string): Stage => stages.find((one) => one.name === name) ?? { name, instructions: [] };
const textOf = (name: string): string | undefined =>
  stage('final').instructions.find((instruction) => instruction.name === name)?.rest;

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();

let app = '';

beforeAll(() => {
  const dependencies = buildStage(stage('dependencies'), () => root);
  // The repository was built before these tests: its results are those of the stage `build`.
  app = buildStage(stage('final'), (from) => (from === 'dependencies' ? dependencies : root));
  rmSync(dependencies, { recursive: true, force: true });
  // As in a container: nothing here can be written, and the process is nobody in particular.
  execFileSync('chmod', ['-R', 'a-w,a+rX', app]);
});

afterAll(() => {
  execFileSync('chmod', ['-R', 'u+w', app]);
  rmSync(app, { recursive: true, force: true });
});

test('the image has what the server needs, and no frameworks, tools or sources', () => {
  const packages = readdirSync(join(app, 'node_modules'));
  const { dependencies } = JSON.parse(readFileSync(join(app, 'packages/server/package.json'), 'utf8')) as {
    readonly dependencies: Readonly<Record<string, string>>;
  };
  const own = Object.keys(dependencies).map((name) => name.split('/')[0]);
  expect(packages).toEqual(expect.arrayContaining(own));
  for (const name of ['express', 'fastify', 'ioredis', 'typescript', 'vitest']) expect(packages).not.toContain(name);
  expect(filesIn(join(app, 'packages')).filter((path) => path.includes('/src/'))).toEqual([]);
  const bytes = filesIn(app).reduce((sum, path) => sum + statSync(path).size, 0);
  console.log(`beside Node the image holds ${(bytes / 1e6).toFixed(1)} MB`);
  expect(bytes).toBeLessThan(SIZE_MAX_BYTES);
});

test('it serves as a user without rights on files that nobody can change, is healthy, and ends', async () => {
  const [gateway, api] = [await freePort(), await freePort()];
  const folder = mkdtempSync(join(tmpdir(), 'comporta-etc-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'comporta.yaml');
  const doors = { gateway: { listen: gateway, routes: [{ path: '/', upstream: 'echo' }] }, api: { listen: api } };
  writeFileSync(file, JSON.stringify({ store: 'memory', ...doors }));
  for (const path of [file, folder]) chmodSync(path, 0o555);
  const before = filesIn(app);

  const words = [...wordsOf(stage('final'), 'ENTRYPOINT'), ...wordsOf(stage('final'), 'CMD')];
  const [command = '', ...rest] = words.map((word) => word.replace(/^\/app/, app).replace('/etc/comporta', folder));
  const who = process.getuid?.() === 0 ? { uid: USER, gid: USER } : {};
  const env = { PATH: process.env.PATH, HOME: '/nonexistent', TMPDIR: '/nonexistent', NODE_ENV: 'production' };
  const child = spawn(command, rest, { cwd: app, env, stdio: ['ignore', 'pipe', 'pipe'], ...who });
  watch(child);
  onTestFinished(() => void child.kill('SIGKILL'));
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  await until(() => output.includes(`gateway on http://127.0.0.1:${gateway}`), { what: `a start in: ${output}` });
  expect((await fetch(`http://127.0.0.1:${gateway}/`)).status).toBe(200);
  expect(health(api)).toBe(0);

  child.kill('SIGTERM');
  expect((await once(child, 'close'))[0]).toBe(0);
  expect(health(api)).toBe(1);
  expect(filesIn(app)).toEqual(before);
});

/** What the HEALTHCHECK of the image says. */
function health(port: number): number | null {
  const [command = '', ...rest] = wordsOf(stage('final'), 'HEALTHCHECK');
  return spawnSync(
    command,
    rest.map((word) => word.replace(':8081/', `:${port}/`)),
  ).status;
}

test('it runs as a user with a number, and opens the ports of the examples', () => {
  expect(textOf('USER')).toBe(`${USER}:${USER}`);
  expect(textOf('EXPOSE')).toBe('8080 8081 8082');
  expect(wordsOf(stage('final'), 'HEALTHCHECK').join(' ')).toContain(':8081/livez');
  expect(readFileSync(join(root, DOCKERFILE), 'utf8')).toMatch(/^ARG NODE_IMAGE=node:\d+\.\d+\.\d+-alpine$/m);
});

test('the build is sent what it copies, and no more', () => {
  const lines = readFileSync(join(root, `${DOCKERFILE}.dockerignore`), 'utf8').split('\n');
  const sent = lines.filter((line) => line.startsWith('!')).map((line) => line.slice(1));
  const copied = stages.flatMap(copiesOf).flatMap(({ from, sources }) => (from === undefined ? sources : []));
  const places = new Set(copied.map((path) => path.replace(/^\.\//, '').split('/')[0]));
  expect(lines.find((line) => line !== '' && !line.startsWith('#'))).toBe('*');
  expect([...places].sort()).toEqual(sent.sort());
});
