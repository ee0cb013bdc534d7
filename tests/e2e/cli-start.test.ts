import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadFile } from '../../packages/server/src/config/file.js';
import { Reloader } from '../../packages/server/src/config/reloader.js';
import { type Command, makeFolder, runCommand } from './cli-support.js';
import { onCleanup, recordLog } from './gateway-support.js';

const policy = '{ name: p, limits: { fixedWindow: { limit: 1, window: 1d } } }';
const gateway = 'gateway: { listen: "127.0.0.1:0", routes: [{ path: /, upstream: echo }] }\n';

function writeConfig(text: string): string {
  const file = join(makeFolder(), 'comporta.yaml');
  writeFileSync(file, text);
  return file;
}

/** A gateway that waits for a store which takes connections and never answers. */
async function startWaiting(): Promise<Command> {
  const store = createServer((socket) => void socket.on('error', () => undefined).resume());
  store.listen(0, '127.0.0.1');
  onCleanup(() => store.close());
  await once(store, 'listening');
  const { port } = store.address() as AddressInfo;
  const file = writeConfig(`store: redis://127.0.0.1:${port}\npolicies: [${policy}]\n${gateway}`);
  const command = runCommand(['serve', '-c', file]);
  await once(store, 'connection');
  return command;
}

describe('a signal while the gateway waits for its store', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)('%s is a clean end', async (signal) => {
    const command = await startWaiting();
    command.signal(signal);
    expect(await command.exit()).toBe(0);
    expect(command.output()).not.toContain('gateway on');
  });

  it('SIGHUP reads the file once it runs', async () => {
    const command = await startWaiting();
    command.signal('SIGHUP');
    await command.says('configuration reloaded');
    expect(command.output()).toContain('gateway on');
    command.signal('SIGTERM');
    expect(await command.exit()).toBe(0);
  });
});

describe('a file without policies', () => {
  it('may run, and check warns of it', async () => {
    const command = runCommand(['check', '-c', writeConfig(gateway)]);
    expect(await command.exit()).toBe(0);
    expect(command.output()).toContain('warning: no policies: every request is forwarded');
  });

  it('is no demonstration of a refusal', async () => {
    const command = runCommand(['serve', '-c', writeConfig(gateway)]);
    await command.says('no policies');
    expect(command.output()).not.toContain('Try it');
  });
});

it('what a file may have for a key does not include functions', async () => {
  const text = `policies: [{ name: p, key: nobody, limits: { fixedWindow: { limit: 1, window: 1d } } }]\n${gateway}`;
  const command = runCommand(['check', '-c', writeConfig(text)]);
  expect(await command.exit()).toBe(1);
  expect(command.output()).toContain('global or a list of them');
  expect(command.output()).not.toContain('function');
});

describe('a reload', () => {
  it('names a mistyped field first, and checks the same text once', () => {
    const file = writeConfig(`policies: [${policy}]\n${gateway}`);
    const first = loadFile(file, {});
    if ('problems' in first) throw new Error('the first file is good');
    const { log, lines } = recordLog();
    const answers = new Set<unknown>();
    const load: ConstructorParameters<typeof Reloader>[0]['load'] = (known) => {
      const content = loadFile(file, {}, known);
      answers.add(content);
      return content;
    };
    const reloader = new Reloader({ file, first, load, apply: () => undefined, log });
    reloader.reload(false);
    writeFileSync(file, `policies:\n  - limit: 5\n    name: p\n${gateway}`);
    for (const isAsked of [false, false, true]) reloader.reload(isAsked);
    expect(lines).toHaveLength(2);
    for (const line of lines) expect(line).toContain('limit: unknown field');
    expect(answers.size).toBe(2);
  });
});
