import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { adminRoutes } from '../../../packages/server/src/admin/routes.js';
import { adminTables } from '../../../packages/server/src/admin/tables.js';
import { loadConfig } from '../../../packages/server/src/config/load.js';
import { root } from '../repo/source.js';

const page = readFileSync(join(root, 'docs/admin.md'), 'utf8');

test('the tables of docs/admin.md are those that the routes make (npm run gen)', () => {
  expect(page).toContain(adminTables(adminRoutes));
});

test('the file of the page loads', () => {
  const [, text = ''] = /^```yaml\n(.*?)^```$/ms.exec(page) ?? [];
  const loaded = loadConfig(text, { COMPORTA_ADMIN_TOKEN: 'a-token-of-the-page' });
  expect('config' in loaded && loaded.config.admin?.tokens).toMatchObject([{ name: 'ada', role: 'operate' }]);
});
