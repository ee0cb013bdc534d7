import { z } from 'zod';
import type { JsonSchema } from '../config/known-fields.js';
import { tableOf } from '../config/table.js';
import { type Access, commonOutcomes, type Outcome, outcomesOf, type Route } from './route.js';

const WHO: Readonly<Record<Access, string>> = {
  anybody: 'anybody',
  token: 'a token of `api.tokens`',
  'store-token': 'a token of `api.store.tokens`',
  proxy: 'proxies in `trustedProxies`',
};

/** The routes for people: an overview, what all may answer, and for each its fields and its own statuses. Markdown. */
export function apiTables(routes: readonly Route[]): string {
  const rows = routes.map((route) => {
    const { method = 'any', path, access, summary } = route;
    const statuses = Object.keys(outcomesOf(route)).join(', ');
    return `| \`${path}\` | ${method} | ${WHO[access]} | ${summary} | ${statuses} |`;
  });
  return [
    '| path | method | who may call | what it does | statuses |\n|---|---|---|---|---|',
    ...rows,
    '\nStatuses mean the same everywhere, unless the table of a path says more:\n',
    statusTable(commonOutcomes),
    ...routes.map(section),
  ].join('\n');
}

function statusTable(outcomes: Readonly<Record<number, Outcome>>): string {
  const rows = Object.entries(outcomes).map(([status, { means }]) => `| ${status} | ${means} |`);
  return ['| status | meaning |\n|---|---|', ...rows, ''].join('\n');
}

function section(route: Route): string {
  const { body, path, query = {}, method, summary, outcomes } = route;
  const given = Object.entries(query).map(([name, means]) => `\`?${name}\`: ${means}\n`);
  return [
    `### \`${path}\`\n`,
    `${method === undefined ? 'Any method' : `\`${method}\``}. ${summary}\n`,
    ...given,
    ...(body === undefined ? [] : [tableOf(z.toJSONSchema(body, { io: 'input', reused: 'inline' }) as JsonSchema)]),
    statusTable(outcomes),
  ].join('\n');
}
