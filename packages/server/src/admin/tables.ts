import { z } from 'zod';
import type { JsonSchema } from '../config/known-fields.js';
import { tableOf } from '../config/table.js';
import { type AdminRoute, commonOutcomes, outcomesOf } from './route.js';

/** The routes for people: an overview, what all may answer, and for each its fields. Markdown. */
export function adminTables(routes: readonly AdminRoute[]): string {
  const rows = routes.map((route) => {
    const statuses = Object.keys(outcomesOf(route)).join(', ');
    return `| \`${route.method} ${route.path}\` | \`${route.role}\` | ${route.summary} | ${statuses} |`;
  });
  const statuses = Object.entries(commonOutcomes).map(([status, { means }]) => `| ${status} | ${means} |`);
  return [
    '| request | role | what it does | statuses |\n|---|---|---|---|',
    ...rows,
    '\n| status | meaning |\n|---|---|',
    ...statuses,
    '',
    ...routes.map(section),
  ].join('\n');
}

function section({ method, path, body, query = {}, outcomes }: AdminRoute): string {
  const given = Object.entries(query).map(([name, means]) => `- \`?${name}\`: ${means}`);
  const means = Object.entries(outcomes).map(([status, outcome]) => `- ${status}: ${outcome.means}`);
  return [
    `### \`${method} ${path}\`\n`,
    ...(body === undefined ? [] : [tableOf(jsonSchema(body, 'input'))]),
    ...given,
    ...means,
    ...answerTable(outcomes[200]?.schema),
    '',
  ].join('\n');
}

const answerTable = (schema: z.ZodType | undefined): readonly string[] =>
  schema === undefined ? [] : ['\nAnswer:\n', tableOf(jsonSchema(schema, 'output')).trimEnd()];

const jsonSchema = (schema: z.ZodType, io: 'input' | 'output'): JsonSchema =>
  z.toJSONSchema(schema, { io, reused: 'inline' }) as JsonSchema;
