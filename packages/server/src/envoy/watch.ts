import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { repeat } from '../time.js';

/** Twice this and the reading is well below a second. */
const POLL_EVERY_MS = 200;

/**
 * Calls `onChange` after files, or what is in folders, have changed and kept still for a moment; and once at the
 * beginning, for what changed before. Asks the file system for their state instead of listening to it: that also sees
 * symlinks that are pointed elsewhere above a file, replaced files, and network and container mounts.
 */
export function watchFiles(
  names: readonly string[],
  onChange: () => void,
  pollEveryMs: number = POLL_EVERY_MS,
): () => void {
  let told: string | undefined;
  let last: string | undefined;
  let isAsking = false;
  const ask = async (): Promise<void> => {
    if (isAsking) return;
    isAsking = true;
    const state = (await Promise.all(names.map(stateOf))).join('\n');
    isAsking = false;
    const isStill = state === last;
    last = state;
    if (!isStill || state === told) return;
    told = state;
    onChange();
  };
  void ask();
  return repeat(pollEveryMs, () => void ask());
}

/** A text that differs when a file does. */
async function stateOf(name: string): Promise<string> {
  try {
    const { ino, size, mtimeMs, ctimeMs, dev } = await stat(name);
    const inside = await readdir(name).catch(() => []);
    const states = await Promise.all(
      inside.filter((one) => !one.startsWith('.')).map((one) => fileState(join(name, one))),
    );
    return [name, dev, ino, size, mtimeMs, ctimeMs, ...states].join(' ');
  } catch {
    return `${name} is not there`;
  }
}

async function fileState(name: string): Promise<string> {
  try {
    const { ino, size, mtimeMs, ctimeMs } = await stat(name);
    return [name, ino, size, mtimeMs, ctimeMs].join(' ');
  } catch {
    return name;
  }
}
