import { type JsonSchema, toJsonSchema } from './known-fields.js';

/** The fields of the file as a Markdown table, made from the schema. */
export function fieldTable(): string {
  return tableOf(toJsonSchema());
}

/** The fields of a schema as a Markdown table. */
export function tableOf(schema: JsonSchema): string {
  return [
    '| field | value | default | meaning |',
    '|---|---|---|---|',
    ...rowsOf(inlined(schema, schema.$defs ?? {}), ''),
    '',
  ].join('\n');
}

/** With what it only names put in its place. */
function inlined(schema: JsonSchema, defs: NonNullable<JsonSchema['$defs']>): JsonSchema {
  const { $ref, ...own } = schema;
  const named = $ref === undefined ? undefined : defs[$ref.replace('#/$defs/', '')];
  if (named !== undefined) return { ...inlined(named, defs), ...own };
  const { properties, items, anyOf } = schema;
  return {
    ...schema,
    ...(properties && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, inlined(field, defs)])),
    }),
    ...(items && { items: inlined(items, defs) }),
    ...(anyOf && { anyOf: anyOf.map((branch) => inlined(branch, defs)) }),
  };
}

function rowsOf(schema: JsonSchema, prefix: string): readonly string[] {
  const required = new Set(schema.required ?? []);
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    if (name.startsWith('$')) return [];
    const path = prefix === '' ? name : `${prefix}.${name}`;
    const fallback = field.default === undefined ? (required.has(name) ? 'required' : '') : code(textOf(field.default));
    const row = `| ${code(path)} | ${formOf(field)} | ${fallback} | ${field.description ?? ''} |`;
    const nested = [field, ...(field.anyOf ?? [])].find(
      ({ properties, items }) => (properties ?? items?.properties) !== undefined,
    );
    return nested === undefined
      ? [row]
      : [row, ...rowsOf(nested.items ?? nested, nested.items === undefined ? path : `${path}[]`)];
  });
}

function formOf(schema: JsonSchema): string {
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map(formOf))].join(' or ');
  if (schema.const !== undefined) return code(String(schema.const));
  if (schema.enum !== undefined) return schema.enum.map((value) => code(String(value))).join(', ');
  if (schema.type === 'array') return `list of ${formOf(schema.items ?? {})}`;
  if (schema.pattern?.includes('ms|s|m') === true) return 'duration';
  if (Array.isArray(schema.type)) return '`host:port`';
  return NAMES[String(schema.type)] ?? String(schema.type);
}

const NAMES: Readonly<Record<string, string>> = {
  object: 'fields',
  string: 'text',
  integer: 'whole number',
  boolean: '`true` or `false`',
};

function code(text: string): string {
  return `\`${text}\``;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
