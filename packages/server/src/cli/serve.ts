import { type App, ListenError, startApp } from '../app.js';
import type { ServerConfig } from '../config/config.js';
import { loadFile, watchConfigFile } from '../config/file.js';
import { formatProblem } from '../config/problem.js';
import { Reloader } from '../config/reloader.js';
import { createLog, type Log, type LogFormat } from '../log.js';
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
    const app = await startApp(content.config, log, (lines) => process.stdout.write(lines));
    announce(content.config, app, log, values);
    const reloader = new Reloader({
      file,
      first: content,
      load: (known) => loadFile(file, process.env, known),
      apply: (config) => app.apply(config),
      onReload: (isGood) => app.reloaded(isGood),
      log,
    });
    const stopWatching = watchConfigFile(file, () => reloader.reload(false));
    signals.onReload(() => reloader.reload(true));
    return await untilStopped(app, log, signals, stopWatching);
  } catch (error) {
    if (!(error instanceof ListenError)) throw error;
    process.stderr.write(`comporta: ${error.message}\n`);
    return 1;
  }
}

function logFormat(values: Values): LogFormat {
  const format = values.log ?? 'text';
  if (format === 'text' || format === 'json') return format;
  throw new UsageError(`serve: --log takes text or json, not "${format}"`);
}

function announce(config: ServerConfig, app: App, log: Log, values: Values): void {
  if (logFormat(values) === 'json') {
    for (const line of bannerLines(config, app)) log.info(line);
  } else {
    process.stdout.write([...bannerLines(config, app), ...tryLines(config, app)].map((line) => `${line}\n`).join(''));
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
function untilStopped(app: App, log: Log, signals: Signals, stopWatching: () => void): Promise<number> {
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
  });
}
