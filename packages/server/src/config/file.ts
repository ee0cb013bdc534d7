import { readFileSync, unwatchFile, watchFile } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { startTimer, stopTimer, type Timer } from '../time.js';
import type { ServerConfig } from './config.js';
import type { Environment } from './environment.js';
import { loadConfig } from './load.js';
import type { Problem } from './problem.js';

/** What a file held at one moment. */
export type FileContent =
  | { readonly text: string; readonly config: ServerConfig }
  | { readonly text: string; readonly problems: readonly Problem[] };

/**
 * Reads and checks a file. A file that cannot be read is a problem like any other. Text that is still
 * the same is not checked again: what is known of it is the answer.
 */
export function loadFile(file: string, environment: Environment, known?: FileContent): FileContent {
  try {
    const text = readFileSync(file, 'utf8');
    if (known !== undefined && text === known.text && !dependsOnOthers(known)) return known;
    return checkFile(file, text, environment);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    const message = code === 'ENOENT' ? 'there is no such file' : `the file cannot be read: ${code ?? String(error)}`;
    return { text: '', problems: [{ line: 1, column: 1, path: '', message, hint: undefined }] };
  }
}

/** Checks the text of a file. Never throws. */
export function checkFile(file: string, text: string, environment: Environment): FileContent {
  const at = (name: string) => resolve(dirname(file), name);
  return { text, ...loadConfig(text, environment, (name) => readFileSync(at(name), 'utf8'), at) };
}

/** Files that it names may have been mended since. */
const dependsOnOthers = (content: FileContent): boolean =>
  'problems' in content && content.problems.some((problem) => problem.file !== undefined);

const POLL_EVERY_MS = 500;
const SETTLE_MS = 100;

/**
 * Calls `onChange` after the file has changed and kept still for a moment. Asks the file system for
 * the file's state instead of listening to it: that also sees symlinks that are pointed elsewhere
 * above the file, replaced files, and network and container mounts.
 */
export function watchConfigFile(file: string, onChange: () => void, pollEveryMs: number = POLL_EVERY_MS): () => void {
  let timer: Timer | undefined;
  const changed = (): void => {
    stopTimer(timer);
    timer = startTimer(Math.min(SETTLE_MS, pollEveryMs), onChange);
  };
  watchFile(file, { interval: pollEveryMs, persistent: false }, changed);
  // The file may have changed between its first reading and now.
  changed();
  return () => {
    stopTimer(timer);
    unwatchFile(file, changed);
  };
}
