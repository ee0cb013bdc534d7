// Writes what is made from the configuration schema: schema/comporta.schema.json and the table in
// docs/config.md. Needs a build. The tests say when either is stale.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { schemaText } from '../dist/cli/schema.js';
import { fieldTable } from '../dist/config/table.js';

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url));

const schema = path('../schema/comporta.schema.json');
mkdirSync(path('../schema'), { recursive: true });
writeFileSync(schema, schemaText());

const docs = path('../../../docs/config.md');
const [start, end] = ['<!-- fields: start -->\n', '<!-- fields: end -->'];
const text = readFileSync(docs, 'utf8');
const [from, to] = [text.indexOf(start), text.indexOf(end)];
if (from < 0 || to < from) throw new Error(`docs/config.md: no "${start.trim()}" before "${end}"`);
writeFileSync(docs, `${text.slice(0, from)}${start}${fieldTable()}${text.slice(to)}`);

execFileSync(path('../../../node_modules/.bin/biome'), ['format', '--write', schema, docs], { stdio: 'inherit' });
