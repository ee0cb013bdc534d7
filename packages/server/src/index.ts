export { type App, ListenError, startApp } from './app.js';
export type { ServerConfig } from './config/config.js';
export { type Loaded, loadConfig } from './config/load.js';
export { formatProblem, type Problem } from './config/problem.js';
export { createLog, type Log, type LogFormat } from './log.js';
