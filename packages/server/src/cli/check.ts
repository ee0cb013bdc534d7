import { loadFile } from '../config/file.js';
import { formatProblem } from '../config/problem.js';
import { limitsNothing, NO_POLICIES } from './banner.js';
import { type Command, configFile, type Values } from './command.js';
import { describePolicies } from './describe.js';

export const check: Command = {
  name: 'check',
  summary: 'say what is wrong with a configuration file',
  options: { config: { type: 'string', short: 'c' } },
  help: `Checks a configuration file without starting anything.

Usage: comporta check -c FILE

  -c, --config FILE   YAML or JSON

Prints each problem as FILE:LINE:COLUMN: what is wrong. Variables in \${...} are read from the
environment, as serve does. Exit code: 0 the file may run, 1 it may not, 2 wrong use of this command.
`,
  run: runCheck,
};

function runCheck(values: Values): number {
  const file = configFile('check', values);
  const content = loadFile(file, process.env);
  if ('problems' in content) {
    for (const problem of content.problems) process.stderr.write(`${formatProblem(file, problem)}\n`);
    const count = content.problems.length;
    process.stderr.write(`${count} ${count === 1 ? 'problem' : 'problems'}\n`);
    return 1;
  }
  process.stdout.write(`${file}: ok\n`);
  for (const line of describePolicies(content.config)) process.stdout.write(`  ${line}\n`);
  if (limitsNothing(content.config)) process.stderr.write(`warning: ${NO_POLICIES}\n`);
  return 0;
}
