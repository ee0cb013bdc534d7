import { type App, ListenError, startApp } from '../app.js';
import type { ServerConfig } from '../config/config.js';
import { type FileContent, loadFile, watchConfigFile } from '../config/file.js';
import { formatProblem } from '../config/problem.js';
import { Reloader } from '../config/reloader.js';
import { type Locked, lockedBy, unlocked } from '../config/restart.js';
import { isWorker } from '../hash-key.js';
import { createLog, type Log, type LogFormat } from '../log.js';
import { workersOf } from '../workers/count.js';
import { type Content, startWorkers, type WorkersApp, WorkersError } from '../workers/primary.js';
import { Worker } from '../workers/worker.js';
import { bannerLines, tryLines } from './banner.js';
import { type Command, configFile, UsageError, type Values } from './command.js';

export const serve: Command = {
  name: 'serve',
  summary: 'run the gateway',
  options: { config: { type: 'string', short: 'c' }, log: { type: 'string' } },
  help: `Runs the gateway until it is told to stop.

Usage: comporta serve -c FILE [--log text|json]

  -c, --config FILE   YAML or JSON; changes to it are applied while running
  --log FORMAT        text (default) or json, one line per event on standard error

SIGHUP reads the file again. SIGTERM and SIGINT stop taking connections and let requests finish; a
second one ends at once.
`,
  run: runServe,
};

async function runServe(values: Values): Promise<number> {
  const file = configFile('serve', values);
  if (isWorker) return new Worker(file).run();
  const log = createLog(logFormat(values), (line) => process.stderr.write(line));
  const content = loadFile(file, process.env);
  if ('problems' in content) {
    for (const problem of content.problems) process.stderr.write(`${formatProblem(file, problem)}\n`);
    return 1;
  }
  // The gateway must outlive a fault in one request's own code; it is still an error to mend.
  process.on('unhandledRejection', (error) => log.error('unhandled rejection', { error: String(error) }));
  const signals = listenForSignals();
  try {
    const app = await start(content, log);
    announce(content.config, app, log, values);
    const reload = reloads(file, content, app, log);
    const stopWatching = watchConfigFile(file, () => reload(false));
    signals.onReload(() => reload(true));
    return await untilStopped(app, log, signals, stopWatching);
  } catch (error) {
    if (!(error instanceof ListenError || error instanceof WorkersError)) throw error;
    process.stderr.write(`comporta: ${error.message}\n`);
    return 1;
  }
}

type Serving = App & Partial<WorkersApp>;

/** One process, or several that look like one. */
async function start(content: Content, log: Log): Promise<Serving> {
  const { config } = content;
  const count = workersOf(config);
  const writeAccess = (lines: string): void => void process.stdout.write(lines);
  if (config.workers === 'auto' && config.store.url === 'memory') {
    log.info('one worker: with store: memory each would count alone');
  }
  return count === 1 ? startApp(config, log, writeAccess) : startWorkers({ first: content, count, log, writeAccess });
}

/** Reads the file again and puts it in force; one reading after the other. */
function reloads(file: string, first: Content, app: Serving, log: Log): (isAsked: boolean) => void {
  let content: FileContent = first;
  let doors: Locked = first.config;
  const reloader = new Reloader({
    file,
    first,
    load: () => content,
    apply: (config) => app.apply(config),
    onReload: (isGood) => app.reloaded(isGood),
    log,
  });
  let work = Promise.resolve();
  const reload = async (isAsked: boolean): Promise<void> => {
    const known = content;
    content = stillLocked(loadFile(file, process.env, known), doors);
    const isNews = isAsked || content.text !== known.text;
    if ('config' in content && isNews) await app.offer?.(content);
    reloader.reload(isAsked);
    if ('config' in content) doors = lockedBy(doors, content.config);
  };
  return (isAsked) => {
    work = work.then(() => reload(isAsked));
  };
}

/** A file that would let everybody in is none that may run, as long as this process does. */
function stillLocked(content: FileContent, doors: Locked): FileContent {
  if (!('config' in content)) return content;
  const problems = unlocked(doors, content.config);
  return problems.length === 0 ? content : { text: content.text, problems };
}

function logFormat(values: Values): LogFormat {
  const format = values.log ?? 'text';
  if (format === 'text' || format === 'json') return format;
  throw new UsageError(`serve: --log takes text or json, not "${format}"`);
}

function announce(config: ServerConfig, app: App, log: Log, values: Values): void {
  if (logFormat(values) === 'json') {
    for (const line of bannerLines(config, app, workersOf(config))) log.info(line);
  } else {
    const lines = [...bannerLines(config, app, workersOf(config)), ...tryLines(config, app)];
    // Standard output is the access log's where there is one: whoever reads it expects JSON.
    const stream = config.accessLog === undefined ? process.stdout : process.stderr;
    stream.write(lines.map((line) => `${line}\n`).join(''));
  }
}

interface Signals {
  /** A reload that was asked for before is made up for. */
  onReload(reload: () => void): void;
  onStop(stop: (signal: string) => void): void;
}

/** From here on no signal ends the process by itself: until there is something to stop, the end is a clean one. */
function listenForSignals(): Signals {
  let wantsReload = false;
  let reload = (): void => {
    wantsReload = true;
  };
  let stop = (_: string): void => process.exit(0);
  process.on('SIGHUP', () => reload());
  process.on('SIGTERM', () => stop('SIGTERM'));
  process.on('SIGINT', () => stop('SIGINT'));
  return {
    onReload(given) {
      reload = given;
      if (wantsReload) reload();
    },
    onStop(given) {
      stop = given;
    },
  };
}

/** Ends with the process: 0 after a drain, 1 when a second signal cut it short. */
function untilStopped(app: Serving, log: Log, signals: Signals, stopWatching: () => void): Promise<number> {
  return new Promise((resolve, reject) => {
    let isStopping = false;
    signals.onStop((signal) => {
      if (isStopping) process.exit(1);
      isStopping = true;
      stopWatching();
      log.info('stopping: requests in flight may finish, a second signal ends at once', { signal });
      app.stop().then(() => {
        log.info('stopped');
        resolve(0);
      }, reject);
    });
    app.onFailure?.((reason) => {
      stopWatching();
      void app.stop().finally(() => reject(new WorkersError(reason)));
    });
  });
}
