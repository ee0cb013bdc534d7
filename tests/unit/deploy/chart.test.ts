import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { documentsOf, loadFolder } from '../../support/manifests.js';

const root = join(import.meta.dirname, '../../..');
const chart = join(root, 'deploy/helm/comporta');
const read = (name: string): string => readFileSync(join(chart, name), 'utf8');

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
}

const schema = JSON.parse(read('values.schema.json')) as Schema;
const [values = {}] = documentsOf<Record<string, unknown>>(read('values.yaml'));
const [info] = documentsOf<{ readonly version: string; readonly appVersion: string }>(read('Chart.yaml'));

const fieldsOf = (value: unknown): string[] => Object.keys(value ?? {}).sort();

test('the configuration in the values may run', () => {
  expect(loadFolder({ 'comporta.yaml': JSON.stringify(values.config) })).not.toHaveProperty('problems');
});

test('so may the example of more files', () => {
  const [, example = ''] = /rate limit service:\n((?:# .*\n)+)/.exec(read('values.yaml')) ?? [];
  const [more] = documentsOf<{ readonly config: object; readonly files: Readonly<Record<string, object>> }>(
    example.replace(/^# {3}/gm, ''),
  );
  const files = Object.entries(more?.files ?? {}).map(([name, content]) => [name, JSON.stringify(content)]);
  expect(files).toHaveLength(1);
  const config = JSON.stringify({ ...(values.config as object), ...more?.config });
  const content = loadFolder({ ...Object.fromEntries(files), 'comporta.yaml': config });
  if ('problems' in content) throw new Error(JSON.stringify(content.problems));
  expect(content.config.envoy?.listen.port).toBe(8082);
});

test('the schema knows every value, and `global`, which Helm adds', () => {
  expect(fieldsOf(schema.properties)).toEqual([...fieldsOf(values), 'global'].sort());
});

describe('the schema names every field of', () => {
  const closed = Object.entries(schema.properties ?? {}).filter(([, part]) => part.additionalProperties === false);

  it.each(closed)('%s', (name, part) => {
    expect(fieldsOf(part.properties)).toEqual(fieldsOf(values[name]));
  });
});

test('the chart has the version of the server', () => {
  const { version } = JSON.parse(readFileSync(join(root, 'packages/server/package.json'), 'utf8')) as {
    version: string;
  };
  expect([info?.version, info?.appVersion]).toEqual([version, version]);
  for (const name of ['compose/compose.yaml', 'kubernetes/deployment.yaml']) {
    const images = readFileSync(join(root, 'deploy', name), 'utf8').match(/image: comporta:\S+/g);
    expect(new Set(images)).toEqual(new Set([`image: comporta:${version}`]));
  }
});
