import { z } from 'zod';
import { version } from '../cli/version.js';
import { type Access, type Outcome, outcomesOf, type Route } from './route.js';

type Json = Readonly<Record<string, unknown>>;

const SECURITY: Readonly<Record<Access, readonly Json[]>> = {
  anybody: [],
  proxy: [],
  token: [{ token: [] }],
  'store-token': [{ storeToken: [] }],
};

const bearer = (description: string): Json => ({ type: 'http', scheme: 'bearer', description });

/** A table of routes as an OpenAPI 3.1 document. */
export function openApiDocument(routes: readonly Route[]): Json {
  const components: Record<string, unknown> = {};
  const paths = Object.fromEntries(routes.map((route) => [route.path, pathItem(route, components)]));
  return {
    openapi: '3.1.0',
    info: { title: 'comporta', version: version(), license: { name: 'MIT', identifier: 'MIT' } },
    paths,
    components: {
      schemas: sorted(components),
      securitySchemes: {
        token: bearer('One of `api.tokens`; not needed where there are none.'),
        storeToken: bearer('One of `api.store.tokens`.'),
      },
    },
  };
}

/** The document as it is kept in `schema/openapi.json`. */
export function openApiText(routes: readonly Route[]): string {
  return `${JSON.stringify(openApiDocument(routes), null, 2)}\n`;
}

/** Proxies ask with GET. */
function pathItem(route: Route, components: Record<string, unknown>): Json {
  const method = (route.method ?? 'GET').toLowerCase();
  const named = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  const parameters = [
    ...named.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } })),
    ...Object.entries(route.query ?? {}).map(([name, description]) => ({
      ...{ name, in: 'query', description, schema: { type: 'string' } },
    })),
  ];
  const outcomes = Object.entries(outcomesOf(route));
  const operation = {
    operationId: route.path
      .replace(/[^a-z0-9]+/gi, ' ')
      .trim()
      .replaceAll(' ', '-'),
    summary: route.summary,
    security: SECURITY[route.access],
    ...(parameters.length > 0 && { parameters }),
    ...(route.body !== undefined && {
      requestBody: {
        required: true,
        content: {
          'application/json': { schema: schemaOf(route.body, 'input', components), example: route.example },
        },
      },
    }),
    responses: Object.fromEntries(outcomes.map(([status, outcome]) => [status, responseOf(outcome, components)])),
  };
  return { [method]: operation };
}

function responseOf({ means, schema, type = 'application/json' }: Outcome, components: Record<string, unknown>): Json {
  if (schema === undefined) return { description: means };
  return { description: means, content: { [type]: { schema: schemaOf(schema, 'output', components) } } };
}

/** Schemas with an id become components, which others point at. */
function schemaOf(schema: z.ZodType, io: 'input' | 'output', components: Record<string, unknown>): unknown {
  const made = z.toJSONSchema(schema, { io, reused: 'inline', unrepresentable: 'any' }) as Record<string, unknown>;
  const { $schema: _, $defs: defs = {}, ...rest } = pointed(made) as Record<string, Record<string, unknown>>;
  for (const [id, definition] of Object.entries(defs)) components[id] = definition;
  const id = z.globalRegistry.get(schema)?.id;
  if (typeof id !== 'string') return rest;
  const { id: __, ...definition } = rest;
  components[id] = definition;
  return { $ref: `#/components/schemas/${id}` };
}

/** The same with references to where an OpenAPI document keeps its schemas. */
function pointed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(pointed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) =>
      name === '$ref' ? [name, String(part).replace('#/$defs/', '#/components/schemas/')] : [name, pointed(part)],
    ),
  );
}

const sorted = (fields: Readonly<Record<string, unknown>>): Json =>
  Object.fromEntries(Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1)));
