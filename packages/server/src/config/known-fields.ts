import { z } from 'zod';
import type { Path } from './problem.js';
import { configSchema } from './schema.js';

/** The parts of a JSON Schema that this program reads. */
export interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  /** What any other name holds. */
  readonly additionalProperties?: JsonSchema | boolean;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly pattern?: string;
  readonly examples?: readonly unknown[];
  /** `#/$defs/` and the name of one of `$defs` at the top. */
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, JsonSchema>>;
}

/** The JSON Schema of a configuration file, for editors. */
export function toJsonSchema(): JsonSchema {
  return z.toJSONSchema(configSchema, { io: 'input' }) as JsonSchema;
}

let wholeSchema: JsonSchema | undefined;

/** Names of the fields that may stand at a place of the file. */
export const knownFields = (path: Path): readonly string[] => fieldsIn(wholeFile(), path);

/** The same at a place of what any schema takes. */
export function fieldsIn(schema: JsonSchema, path: Path): readonly string[] {
  const fields = schemasAt(schema, path).flatMap(({ properties = {} }) => Object.keys(properties));
  return [...new Set(fields)];
}

/** What the field at a place is for. */
export function describeField(path: Path): string | undefined {
  return schemasAt(wholeFile(), path).find(({ description }) => description !== undefined)?.description;
}

function wholeFile(): JsonSchema {
  wholeSchema ??= toJsonSchema();
  return wholeSchema;
}

function schemasAt(root: JsonSchema, path: Path): readonly JsonSchema[] {
  let schemas = alternatives(root);
  for (const part of path) {
    schemas = schemas.flatMap((schema) => {
      const next = typeof part === 'number' ? schema.items : (schema.properties?.[part] ?? schema.additionalProperties);
      return typeof next === 'object' ? alternatives(next) : [];
    });
  }
  return schemas;
}

/** A schema and what it is a choice of. */
function alternatives(schema: JsonSchema): readonly JsonSchema[] {
  return [schema, ...(schema.anyOf ?? []).flatMap(alternatives)];
}
