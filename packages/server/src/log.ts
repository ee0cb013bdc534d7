/** One line per event, on standard error. */
export interface Log {
  info(message: string, fields?: Fields): void;
  warn(message: string, fields?: Fields): void;
  error(message: string, fields?: Fields): void;
}

export type Fields = Readonly<Record<string, string | number | boolean>>;
export type LogFormat = 'text' | 'json';
type Level = 'info' | 'warn' | 'error';

export function createLog(format: LogFormat, write: (line: string) => void, now: () => Date = () => new Date()): Log {
  const render = format === 'json' ? asJson : asText;
  const at =
    (level: Level) =>
    (message: string, fields: Fields = {}): void =>
      write(`${render(now(), level, message, fields)}\n`);
  return { info: at('info'), warn: at('warn'), error: at('error') };
}

const DISTINCT_MAX = 100;

/** Warns of each distinct message once, up to a bound: a fault in every request must not flood the log. */
export function warnOnce(log: Log): (error: Error) => void {
  const seen = new Set<string>();
  return ({ message }) => {
    if (seen.has(message) || seen.size >= DISTINCT_MAX) return;
    seen.add(message);
    log.warn(message);
  };
}

function asJson(time: Date, level: Level, message: string, fields: Fields): string {
  return JSON.stringify({ time: time.toISOString(), level, message, ...fields });
}

function asText(time: Date, level: Level, message: string, fields: Fields): string {
  const extra = Object.entries(fields).map(([name, value]) => ` ${name}=${quote(value)}`);
  return `${time.toISOString()} ${level.padEnd(5)} ${oneLine(message)}${extra.join('')}`;
}

function quote(value: string | number | boolean): string {
  const text = oneLine(String(value));
  return /^[^\s"=]+$/.test(text) ? text : JSON.stringify(text);
}

/** What comes from outside can neither start a line of its own nor steer a terminal. */
function oneLine(text: string): string {
  return text.replace(/\s*[\r\n]+\s*/g, ' ').replace(/\p{Cc}/gu, '?');
}
