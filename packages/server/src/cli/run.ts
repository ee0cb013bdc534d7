import { nearest } from '../config/nearest.js';
import { check } from './check.js';
import { type Command, readArguments, UsageError } from './command.js';
import { doctor } from './doctor.js';
import { keys } from './keys.js';
import { plan } from './plan.js';
import { schema } from './schema.js';
import { serve } from './serve.js';
import { top } from './top.js';
import { version } from './version.js';

const COMMANDS: readonly Command[] = [serve, check, doctor, keys, top, plan, schema];

/** Runs one command and sets the exit code: 0 done, 1 it failed, 2 it was called wrongly. */
export async function runCli(words: readonly string[]): Promise<void> {
  try {
    process.exitCode = await run(words);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const command = COMMANDS.find(({ name }) => name === words[0]);
    const help = command === undefined ? 'comporta --help' : `comporta ${command.name} --help`;
    process.stderr.write(`comporta: ${error.message}\nTry: ${help}\n`);
    process.exitCode = 2;
  }
}

async function run(words: readonly string[]): Promise<number> {
  const [name, ...rest] = words;
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') return print(help());
  if (name === '--version' || name === '-v') return print(`comporta ${version()}\n`);
  const command = COMMANDS.find((candidate) => candidate.name === name);
  if (command === undefined) {
    const guess = nearest(name, [...COMMANDS.map((candidate) => candidate.name), 'help']);
    const what = name.startsWith('-') ? 'option' : 'command';
    throw new UsageError(
      `there is no ${what} "${name}"${guess === undefined ? '' : `; did you mean "comporta ${guess}"?`}`,
    );
  }
  const values = readArguments(command, rest);
  return values.help === true ? print(command.help) : command.run(values);
}

function print(text: string): number {
  process.stdout.write(text);
  return 0;
}

function help(): string {
  const lines = COMMANDS.map(({ name, summary }) => `  ${name.padEnd(10)}${summary}`);
  return `comporta: rate limiting gateway

Usage: comporta COMMAND [options]

${lines.join('\n')}

  comporta COMMAND --help   options of one command
  comporta --version        the version

Start here: comporta serve -c comporta.yaml
`;
}
