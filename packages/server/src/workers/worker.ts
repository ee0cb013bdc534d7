import cluster from 'node:cluster';
import { Refusal } from '../api/problem.js';
import { type App, startApp } from '../app.js';
import { checkFile, type FileContent } from '../config/file.js';
import { formatProblem } from '../config/problem.js';
import { createLog, type Log } from '../log.js';
import { nowMs } from '../time.js';
import { AlertFeed } from './alert-facts.js';
import { Collector } from './collector.js';
import type { ToWorker } from './messages.js';
import { type Answered, type Answerers, type Asked, answersOf, type Part, type Question, type Team } from './team.js';
import { Uplink } from './uplink.js';

/** Longer than the first process waits for the others. */
const ANSWERS_LIMIT_MS = 2000;
/** The first process, which answers for all. */
const ASKED_OF = 0;

type StartOrder = Extract<ToWorker, { kind: 'start' }>;

/** One of several processes that serve on the same ports; does what the first process says until the end. */
export class Worker {
  readonly #file: string;
  readonly #link: Uplink = new Uplink();
  readonly #log: Log = logTo(this.#link);
  readonly #questions: Collector<readonly Answered[]> = new Collector(ANSWERS_LIMIT_MS);
  #answerers: Answerers = {};
  #starting: Promise<App | undefined> = Promise.resolve(undefined);
  #lost = 0;

  constructor(file: string) {
    this.#file = file;
  }

  /** Resolves when nothing is left: the process then ends by itself. */
  run(): Promise<number> {
    // Signals of a terminal or a service manager reach every process; the first one says what to do.
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => undefined);
    process.on('unhandledRejection', (error) => this.#log.error('unhandled rejection', { error: String(error) }));
    return new Promise((resolve) => {
      const end = (code: number): void => {
        if (cluster.worker !== undefined) cluster.worker.exitedAfterDisconnect = true;
        if (process.connected) process.disconnect();
        resolve(code);
      };
      let isStopping = false;
      const stop = (): void => {
        if (isStopping) return;
        isStopping = true;
        // Without this Node ends the process at once when the first process is gone.
        if (cluster.worker !== undefined) cluster.worker.exitedAfterDisconnect = true;
        void this.#stop().then(end, (error: unknown) => {
          this.#log.error('a worker did not end well', { error: String(error) });
          end(1);
        });
      };
      cluster.worker?.on('disconnect', stop);
      process.on('message', (message: ToWorker) => this.#receive(message, stop));
      // What came before somebody listened is lost.
      this.#link.send({ kind: 'hello' });
    });
  }

  #receive(message: ToWorker, stop: () => void): void {
    if (message.kind === 'start') {
      this.#starting = this.#start(message, stop);
    } else if (message.kind === 'apply') {
      void this.#apply(message.text).then((error) => this.#link.send({ kind: 'applied', id: message.id, error }));
    } else if (message.kind === 'ask') {
      const [answer] = answersOf(this.#answerers, message.what, message.asked);
      this.#link.send({ kind: 'answer', id: message.id, answer });
    } else if (message.kind === 'answers') {
      this.#questions.answered(ASKED_OF, message.id, message.answers);
    } else {
      stop();
    }
  }

  async #start({ text, part }: StartOrder, stop: () => void): Promise<App | undefined> {
    try {
      const content = checkFile(this.#file, text, process.env);
      if ('problems' in content) throw new Error(summaryOf(this.#file, content));
      const app = await startApp(content.config, this.#log, (lines) => this.#write(lines), this.#team(part));
      const { apply: _, reloaded: __, stop: ___, ...addresses } = app;
      this.#link.send({ kind: 'ready', addresses });
      return app;
    } catch (error) {
      this.#link.send({ kind: 'failed', message: error instanceof Error ? error.message : String(error) });
      stop();
      return undefined;
    }
  }

  async #apply(text: string): Promise<string | undefined> {
    const app = await this.#starting;
    const content = checkFile(this.#file, text, process.env);
    if ('problems' in content) return summaryOf(this.#file, content);
    try {
      app?.apply(content.config);
      return undefined;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  async #stop(): Promise<number> {
    const app = await this.#starting;
    if (app === undefined) {
      await this.#link.flushed();
      return 1;
    }
    await app.stop();
    await this.#link.flushed();
    return 0;
  }

  #team(part: Part): Team {
    const feed = new AlertFeed();
    return {
      part,
      answerBy: (answerers) => {
        this.#answerers = answerers;
      },
      ask: (what, asked) => this.#ask(what, asked),
      shared: {
        alert: (found) => {
          const findings = feed.news(found, nowMs());
          if (findings !== undefined) this.#link.send({ kind: 'alert', findings });
        },
        audit: (operation) => void this.#link.send({ kind: 'audit', operation }),
        reloaded: (what, isGood) => void this.#link.send({ kind: 'reloaded', what, isGood }),
      },
    };
  }

  async #ask<K extends Question>(what: K, asked: Asked<K>): Promise<readonly Answered<K>[]> {
    const answers = await this.#questions.ask(
      [ASKED_OF],
      (_, id) => void this.#link.send({ kind: 'ask', id, what, asked }),
    );
    const found = answers.get(ASKED_OF);
    if (found === undefined) {
      const retry = { headers: [['retry-after', '1']] } as const;
      throw new Refusal(503, 'The other workers did not answer in time.', retry);
    }
    return found as readonly Answered<K>[];
  }

  /** One process writes for all, so that no line is cut by another. */
  #write(lines: string): void {
    const count = this.#lost;
    if (!this.#link.send({ kind: 'lines', lines }, lines.length)) this.#lost += lines.split('\n').length - 1;
    else if (count > 0) {
      this.#lost = 0;
      this.#log.warn('lines of the access log were lost', { count });
    }
  }
}

/** To the first process, or on standard error where there is none any more. */
function logTo(link: Uplink): Log {
  const own = createLog('text', (line) => process.stderr.write(line));
  const at =
    (level: keyof Log): Log['info'] =>
    (message, fields = {}) => {
      if (!link.send({ kind: 'log', level, message, fields }, message.length)) own[level](message, fields);
    };
  return { info: at('info'), warn: at('warn'), error: at('error') };
}

function summaryOf(file: string, { problems }: Extract<FileContent, { problems: unknown }>): string {
  const [first] = problems;
  return first === undefined ? 'the configuration cannot be used' : formatProblem(file, first);
}
