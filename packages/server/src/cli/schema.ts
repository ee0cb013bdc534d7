import { toJsonSchema } from '../config/known-fields.js';
import type { Command } from './command.js';

export const schema: Command = {
  name: 'schema',
  summary: 'print the JSON Schema of the configuration file, for editors',
  options: {},
  help: `Prints the JSON Schema of the configuration file.

Usage: comporta schema > comporta.schema.json

Editors then check and complete the file when its first line is
  # yaml-language-server: $schema=./comporta.schema.json
`,
  run: () => {
    process.stdout.write(schemaText());
    return 0;
  },
};

/** The text of the schema file. */
export function schemaText(): string {
  return `${JSON.stringify(toJsonSchema(), undefined, 2)}\n`;
}
