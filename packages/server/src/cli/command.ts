import { parseArgs } from 'node:util';
import { nearest } from '../config/nearest.js';

/** Options as given; each command looks at its own. */
export interface Values {
  readonly config?: string;
  readonly log?: string;
  readonly timeout?: string;
  readonly json?: boolean;
  readonly url?: string;
  readonly 'token-file'?: string;
  readonly policy?: string;
  readonly subject?: string;
  readonly part?: readonly string[];
  readonly for?: string;
  readonly amount?: string;
  readonly plan?: string;
  readonly limits?: string;
  readonly by?: string;
  readonly once?: boolean;
  readonly rps?: string;
  readonly subjects?: string;
  readonly replicas?: string;
  readonly load?: string;
  readonly memory?: string;
  readonly hottest?: string;
  readonly lease?: string;
  readonly limit?: string;
  readonly processes?: string;
  readonly help?: boolean;
  /** The word that a command takes beside its options. */
  readonly word?: string;
}

/** Options of a command, as `parseArgs` takes them. */
export type Options = Readonly<
  Record<string, { readonly type: 'string' | 'boolean'; readonly short?: string; readonly multiple?: boolean }>
>;

export interface Command {
  readonly name: string;
  readonly summary: string;
  readonly help: string;
  readonly options: Options;
  /** Takes one word beside its options. */
  readonly takesWord?: boolean;
  /** Exit code. */
  run(values: Values): number | Promise<number>;
}

/** The command line cannot be understood. */
export class UsageError extends Error {
  override readonly name: string = 'UsageError';
}

/** Reads the words after a command's name; throws a {@link UsageError} that says what to write instead. */
export function readArguments(command: Command, words: readonly string[]): Values {
  const options = { ...command.options, help: { type: 'boolean', short: 'h' } } as const;
  try {
    const allowPositionals = command.takesWord === true;
    const asked = { args: [...words], options, strict: true, allowPositionals, tokens: true } as const;
    const { values, positionals, tokens } = parseArgs(asked);
    const [word, more] = positionals;
    if (more !== undefined) throw new Error(`Unexpected argument '${more}'`);
    const given = tokens.flatMap((token) => (token.kind === 'option' ? [token.name] : []));
    const twice = given.find((name, i) => given.indexOf(name) < i && command.options[name]?.multiple !== true);
    if (twice !== undefined) throw new Error(`--${twice} is given twice`);
    return { ...(values as Values), ...(word !== undefined && { word }) };
  } catch (error) {
    const message = error instanceof Error ? (error.message.split('. ')[0] ?? '') : String(error);
    const unknown = /^Unknown option '--?([^']+)'/.exec(message)?.[1];
    const guess = unknown === undefined ? undefined : nearest(unknown, Object.keys(options));
    throw new UsageError(`${command.name}: ${message}${guess === undefined ? '' : `; did you mean --${guess}?`}`);
  }
}

/** The configuration file that a command needs. */
export function configFile(command: string, values: Values): string {
  const file = values.config;
  if (typeof file !== 'string' || file === '') {
    throw new UsageError(`${command}: which configuration? Write: comporta ${command} -c comporta.yaml`);
  }
  return file;
}
