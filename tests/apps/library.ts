import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pack, run } from '../package/packed.js';

/**
 * Puts the library into an application as npm would, from its archive. A link would not do: the library would then
 * find this repository's copy of the framework, whose classes the application's copy does not know.
 */
export async function installLibrary(folder: string, needed: string): Promise<void> {
  if (!existsSync(join(folder, 'node_modules', needed)))
    throw new Error(`${needed} is not installed: run \`node scripts/install-runtimes.mjs\``);
  const archives = mkdtempSync(join(tmpdir(), 'comporta-app-'));
  try {
    const archive = await pack('packages/comporta', archives);
    const library = join(folder, 'node_modules/comporta');
    rmSync(library, { recursive: true, force: true });
    mkdirSync(library);
    await succeed(folder, 'tar', '-xzf', archive, '-C', library, '--strip-components', '1');
  } finally {
    rmSync(archives, { recursive: true });
  }
}

/** Runs a command in the application's folder; rejects with what it wrote when it fails. */
export async function succeed(folder: string, command: string, ...args: readonly string[]): Promise<void> {
  const { ok, output } = await run(folder, command, ...args);
  if (!ok) throw new Error(output);
}
