import type { Log } from '../log.js';
import type { ServerConfig } from './config.js';
import type { FileContent } from './file.js';
import { UNKNOWN_FIELD } from './issues.js';
import { formatProblem } from './problem.js';
import { restartNeeded } from './restart.js';

export interface ReloaderOptions {
  readonly file: string;
  readonly first: { readonly text: string; readonly config: ServerConfig };
  /** Reads the file; may answer with what is known when its text has not changed. */
  readonly load: (known: FileContent) => FileContent;
  /** Puts a checked configuration in force; may throw, and then must leave the old one in force. */
  readonly apply: (config: ServerConfig) => void;
  /** Told after each reading of a changed file. */
  readonly onReload?: (isGood: boolean) => void;
  readonly log: Log;
}

/** Takes a changed file as a whole or not at all; says which in one line. */
export class Reloader {
  readonly #options: ReloaderOptions;
  /** What the process was started with: that is what a restart would replace. */
  readonly #started: ServerConfig;
  #last: FileContent;

  constructor(options: ReloaderOptions) {
    this.#options = options;
    this.#started = options.first.config;
    this.#last = options.first;
  }

  /** `isAsked`: a person wants an answer even when nothing has changed. */
  reload(isAsked: boolean): void {
    const content = this.#options.load(this.#last);
    const isSame = content.text === this.#last.text;
    this.#last = content;
    if (isSame && !isAsked) return;
    // Not inside the call: without a listener it would not be taken.
    const isGood = this.#take(content);
    this.#options.onReload?.(isGood);
  }

  /** Whether it is in force. */
  #take(content: FileContent): boolean {
    const { file, log } = this.#options;
    if ('problems' in content) {
      // A mistyped name makes others seem to be missing: it says more than they do.
      const problem = content.problems.find(({ message }) => message === UNKNOWN_FIELD) ?? content.problems[0];
      const more = content.problems.length - 1;
      const first = problem === undefined ? '' : formatProblem(file, problem);
      log.error(
        `configuration not reloaded, the last good one stays in force: ${first}${more > 0 ? ` (and ${more} more)` : ''}`,
      );
      return false;
    }
    return this.#apply(content.config);
  }

  #apply(config: ServerConfig): boolean {
    const { apply, log } = this.#options;
    try {
      apply(config);
    } catch (error) {
      log.error('configuration not reloaded, the last good one stays in force', {
        error: error instanceof Error ? error.message : String(error),
      });
      return false;
    }
    const restart = restartNeeded(this.#started, config);
    const counts = { policies: config.gate.policies.length, routes: config.gateway?.routes.length ?? 0 };
    if (restart.length === 0) log.info('configuration reloaded', counts);
    else log.warn('configuration reloaded; some changes need a restart', { ...counts, restart: restart.join(', ') });
    return true;
  }
}
