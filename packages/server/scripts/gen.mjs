// Writes what is made from the schemas: schema/comporta.schema.json and the table in docs/config.md from that of the
// configuration, schema/openapi.json and the tables in docs/decision-api.md from the API's table of routes, those in
// docs/admin.md from the admin API's. Needs a build. The tests say when any is stale.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { adminRoutes } from '../dist/admin/routes.js';
import { adminTables } from '../dist/admin/tables.js';
import { openApiText } from '../dist/api/openapi.js';
import { routes } from '../dist/api/routes.js';
import { apiTables } from '../dist/api/tables.js';
import { schemaText } from '../dist/cli/schema.js';
import { fieldTable } from '../dist/config/table.js';

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url));

const schema = path('../schema/comporta.schema.json');
mkdirSync(path('../schema'), { recursive: true });
writeFileSync(schema, schemaText());

const openApi = path('../schema/openapi.json');
writeFileSync(openApi, openApiText(routes));

/** Puts a text between two marks of a page. */
function fill(page, name, filling) {
  const [start, end] = [`<!-- ${name}: start -->\n`, `<!-- ${name}: end -->`];
  const text = readFileSync(page, 'utf8');
  const [from, to] = [text.indexOf(start), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`${page}: no "${start.trim()}" before "${end}"`);
  writeFileSync(page, `${text.slice(0, from)}${start}${filling}${text.slice(to)}`);
}

const [config, api, admin] = ['config', 'decision-api', 'admin'].map((name) => path(`../../../docs/${name}.md`));
fill(config, 'fields', fieldTable());
fill(api, 'routes', apiTables(routes));
fill(admin, 'routes', adminTables(adminRoutes));

const made = [schema, openApi, config, api, admin];
execFileSync(path('../../../node_modules/.bin/biome'), ['format', '--write', ...made], { stdio: 'inherit' });
