import { nearest } from '../config/nearest.js';
import { AdminError, adminClient, CLIENT_HELP, CLIENT_OPTIONS } from './admin-client.js';
import { type Command, UsageError, type Values } from './command.js';
import { printable } from './printable.js';

/** What each action needs beside a subject. */
const ACTIONS: Readonly<Record<string, readonly ('for' | 'amount' | 'override')[]>> = {
  inspect: [],
  reset: [],
  block: ['for'],
  unblock: [],
  refund: ['amount'],
  override: ['for', 'override'],
  'remove-override': [],
};

export const keys: Command = {
  name: 'keys',
  summary: 'look at one subject of a running server, reset, block or override it',
  options: {
    ...CLIENT_OPTIONS,
    policy: { type: 'string' },
    subject: { type: 'string' },
    part: { type: 'string', multiple: true },
    for: { type: 'string' },
    amount: { type: 'string' },
    plan: { type: 'string' },
    limits: { type: 'string' },
    json: { type: 'boolean' },
  },
  takesWord: true,
  help: `Looks at one subject of a running server, or operates on it.

Usage: comporta keys inspect --policy P --subject S
       comporta keys reset --policy P --subject S
       comporta keys block --policy P --subject S --for 1h
       comporta keys unblock --policy P --subject S
       comporta keys refund --policy P --subject S --amount 5 [--plan NAME]
       comporta keys override --policy P --subject S --for 1d --plan NAME
       comporta keys override --policy P --subject S --for 1d --limits '{"tokenBucket": {...}}'
       comporta keys remove-override --policy P --subject S

  --policy NAME       policy of the server's file
  --subject TEXT      the subject as decisions and comporta top name it
  --part VALUE        instead: a value of the policy's key; once for each, in its order
  --for TIME          how long, such as 10m or 1h30m
  --amount N          how much is given back at most: never more than was used, of a split
                      subject in each of its parts
  --plan NAME         plan of the policy
  --limits JSON       a limit or a list of limits, written as in the file
  --json              print the answer as JSON
${CLIENT_HELP}

Everything but inspect needs a token with the role operate. Every process on the same store follows
with its next decision; under a policy with lease, once the units it has fetched ahead are over
(lease.lasts, 100 ms unless set). Exit code: 0 done, 1 the server refused or was not reached, 2 wrong
use of this command.
`,
  run: runKeys,
};

async function runKeys(values: Values): Promise<number> {
  const action = values.word ?? '';
  const body = bodyOf(action, values);
  const client = adminClient('keys', values);
  try {
    const answer = (await client.ask(`/admin/subjects/${action}`, body)) as Readonly<Record<string, unknown>>;
    const told = action === 'refund' ? { ...answer, 'given back': givenBack(values) } : answer;
    process.stdout.write(values.json === true ? `${JSON.stringify(answer, undefined, 2)}\n` : described(told));
    return 0;
  } catch (error) {
    if (!(error instanceof AdminError)) throw error;
    process.stderr.write(`comporta: keys ${action}: ${printable(error.message)}\n`);
    return 1;
  }
}

function bodyOf(action: string, values: Values): object {
  const needs = Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : undefined;
  if (needs === undefined) {
    const guess = nearest(action, Object.keys(ACTIONS));
    const hint = guess === undefined ? `Write one of ${Object.keys(ACTIONS).join(', ')}` : `Did you mean ${guess}?`;
    throw new UsageError(`keys: ${action === '' ? 'what to do?' : `there is no action "${action}".`} ${hint}`);
  }
  const takes = [...needs, ...(action === 'refund' ? ['plan'] : needs.includes('override') ? ['plan', 'limits'] : [])];
  const extra = (['for', 'amount', 'plan', 'limits'] as const).find(
    (name) => values[name] !== undefined && !takes.includes(name),
  );
  if (extra !== undefined) throw new UsageError(`keys: ${action} takes no --${extra}`);
  const { plan } = values;
  return {
    policy: given(action, values, 'policy'),
    subject: subjectOf(action, values),
    ...(needs.includes('for') && { for: given(action, values, 'for') }),
    ...(needs.includes('amount') && { amount: amountOf(given(action, values, 'amount')) }),
    ...(plan !== undefined && { plan }),
    ...(needs.includes('override') && overrideOf(values)),
  };
}

function given(action: string, values: Values, name: 'policy' | 'for' | 'amount'): string {
  const text = values[name];
  if (text !== undefined && text !== '') return text;
  throw new UsageError(`keys: ${action} needs --${name}`);
}

function subjectOf(action: string, { subject, part }: Values): string | readonly string[] {
  if (subject !== undefined && subject !== '' && part === undefined) return subject;
  if (subject === undefined && part !== undefined) return part;
  throw new UsageError(`keys: ${action} needs --subject, or --part for each value of the policy's key`);
}

function amountOf(text: string): number {
  const amount = /^\d{1,16}$/.test(text) ? Number(text) : 0;
  if (amount >= 1 && Number.isSafeInteger(amount)) return amount;
  throw new UsageError(`keys: --amount takes a whole number from 1, not "${text}"`);
}

function overrideOf({ plan, limits }: Values): object {
  if ((plan === undefined) === (limits === undefined)) {
    throw new UsageError('keys: override needs --plan or --limits, not both');
  }
  if (limits === undefined) return {};
  try {
    return { limits: JSON.parse(limits) as unknown };
  } catch {
    throw new UsageError('keys: --limits takes JSON, such as {"fixedWindow": {"limit": 5, "window": "1m"}}');
  }
}

/** Stores do not tell how much it was. */
const givenBack = ({ amount }: Values): string =>
  `up to ${amount}: never more than was used, of a split subject in each of its parts`;

/** One aligned line for each fact. */
function described(answer: Readonly<Record<string, unknown>>): string {
  const lines = Object.entries(answer).flatMap(([name, value]) => {
    const values = name === 'limits' && Array.isArray(value) && value.length > 0 ? value : [value];
    return values.map((each) => `${name.padEnd(14)} ${worded(each)}`);
  });
  return `${lines.join('\n')}\n`;
}

function worded(value: unknown): string {
  if (value === null) return 'none';
  if (typeof value !== 'object') return printable(String(value));
  const fields = Object.entries(value).map(([name, part]) => {
    const text = typeof part === 'string' ? part : JSON.stringify(part);
    return `${name} ${text}`;
  });
  return printable(fields.length === 0 ? 'none' : fields.join(', '));
}
