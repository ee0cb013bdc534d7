import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { which } from '../../scripts/lib/find-servers.mjs';
import { freePort } from '../support/ports.js';
import { ask } from './api-support.js';
import { makeFolder, root } from './cli-support.js';
import { onCleanup, until } from './gateway-support.js';

const folder = join(root, 'examples/forward-auth');

/** Ports in place of those of the examples. */
export interface Ports {
  readonly api: number;
  readonly app: number;
}

/** A proxy that the examples have a configuration for. */
export interface ProxyProgram {
  readonly name: 'nginx' | 'caddy';
  /** Status while the service cannot be reached. */
  readonly statusWithoutService: number;
  readonly file: string;
  prepare(text: string, dir: string): string;
  args(file: string, dir: string): readonly string[];
}

const nginx: ProxyProgram = {
  name: 'nginx',
  statusWithoutService: 200,
  file: 'nginx.conf',
  // Nothing outside the test's folder is written.
  prepare: (text, dir) => {
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
    const paths = temporary.map((name) => `${name}_temp_path ${dir}/${name};`);
    return text.replace('http {', `http {\n  access_log off;\n  ${paths.join('\n  ')}`);
  },
  args: (file, dir) => ['-p', dir, '-e', 'stderr', '-c', file, '-g', `daemon off; pid ${dir}/pid; user root;`],
};

const caddy: ProxyProgram = {
  name: 'caddy',
  statusWithoutService: 502,
  file: 'Caddyfile',
  prepare: (text) => text,
  args: (file) => ['run', '--adapter', 'caddyfile', '--config', file],
};

export const installedProxies: readonly ProxyProgram[] = [nginx, caddy].filter(({ name }) => which(name) !== undefined);

/** Runs a proxy with the configuration of the examples; resolves to its port. */
export async function startProxy(program: ProxyProgram, { api, app }: Ports): Promise<number> {
  const port = await freePort();
  const dir = makeFolder();
  const file = join(dir, program.file);
  const text = readFileSync(join(folder, program.file), 'utf8');
  const ported = text.replaceAll('8081', `${api}`).replaceAll('3000', `${app}`).replaceAll('8080', `${port}`);
  mkdirSync(join(dir, 'home'));
  writeFileSync(file, program.prepare(ported, dir));
  const env = { ...process.env, HOME: join(dir, 'home'), XDG_DATA_HOME: dir, XDG_CONFIG_HOME: dir };
  const child = spawn(which(program.name) ?? '', program.args(file, dir), { env, cwd: dir });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  onCleanup(() => ended(child));
  const isUp = (): Promise<boolean> =>
    ask(port, '/up').then(
      () => true,
      () => false,
    );
  await until(`${program.name} to answer:\n${output}`, async () => {
    if (child.exitCode !== null) throw new Error(`${program.name} ended: ${output}`);
    return isUp();
  });
  return port;
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const exit = once(child, 'exit');
  // Its workers end with it.
  child.kill('SIGTERM');
  await exit;
}
