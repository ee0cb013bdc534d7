import { sha1Hex } from '../core/hash.js';
import { type Algorithm, type Limit, TTL_MARGIN_MS } from './algorithm.js';
import { TOTAL_MAX } from './ranges.js';
import { algorithms, type LuaTwin, luaTwins } from './registry.gen.js';

/** A script as it is sent: its text, and the SHA-1 that a server caches it under. */
export interface Script {
  readonly text: string;
  readonly sha: string;
}

export type Operation = 'consume' | 'peek' | 'force' | 'refund' | 'reset';

/** Constants and the two clocks, before anything else. */
const HEAD = `local TTL_MARGIN_MS, TOTAL_MAX = ${TTL_MARGIN_MS}, ${TOTAL_MAX}
local us
if ARGV[1] == '' then
local time = redis.call('TIME')
us = time[1] * 1000000 + time[2]
else
us = tonumber(ARGV[1])
end
local ms = math.floor(us / 1000)
local cost = tonumber(ARGV[2])
`;

const cache: Map<string, Script> = new Map();

/**
 * One script that decides all limits of one subject: every limit evaluates, then all commit or none.
 * It is specialised for the sequence of algorithms, so a single limit pays nothing for the others.
 */
export function compose(operation: Operation, limits: readonly Limit[]): Script {
  const names = limits.map((limit) => limit.algorithm.name);
  const id = `${operation} ${names.join(' ')}`;
  let script = cache.get(id);
  if (script === undefined) {
    const text = TEXTS[operation](limits);
    script = { text, sha: sha1Hex(text) };
    cache.set(id, script);
  }
  return script;
}

const TEXTS: Readonly<Record<Operation, (limits: readonly Limit[]) => string>> = {
  consume: (limits) =>
    `#!lua\n${HEAD}${helpers(limits)}${evaluateAll(limits)}${commitAll(limits)}${describeAll(limits)}`,
  peek: (limits) => `#!lua flags=no-writes\n${HEAD}${helpers(limits)}${evaluateAll(limits)}${describeAll(limits)}`,
  force: (limits) => `#!lua\n${HEAD}${modules(limits)}${forceAll(limits)}`,
  refund: (limits) => `#!lua\n${HEAD}${modules(limits)}${refundAll(limits)}`,
  // Freeing memory must work on a full server too.
  reset: () =>
    `#!lua flags=allow-oom\nlocal removed = 0\nfor i = 1, #KEYS do removed = removed + redis.call('DEL', KEYS[i]) end\nreturn removed\n`,
};

/** Helper functions of each algorithm, under names that cannot meet those of another. */
function helpers(limits: readonly Limit[]): string {
  return namesOf(limits)
    .map((name) => twin(name).helpers)
    .join('');
}

function evaluateAll(limits: readonly Limit[]): string {
  const parts = limits.map((limit, i) => {
    const { name, args } = limit.algorithm;
    const from = 3 + argumentsBefore(limits, i);
    const read = args.map((_, j) => `tonumber(ARGV[${from + j}])`).join(', ');
    const results = [`retry${i}`, `stepped${i}`, ...carry(name).map((word) => word + i)];
    const locals = `local ${numbered(args, i)} = ${read}\nlocal ${results.join(', ')}\n`;
    return locals + inline(limit, i, 'evaluate', results);
  });
  return parts.join('');
}

/** All commit or none; a state that the clock stepped behind is stored again in any case. */
function commitAll(limits: readonly Limit[]): string {
  const admitted = limits.map((_, i) => `retry${i} == 0`).join(' and ');
  const parts = limits.map((limit, i) => {
    const results = carry(limit.algorithm.name).map((word) => word + i);
    return `if admitted or stepped${i} then\n${inline(limit, i, 'commit', results)}end\n`;
  });
  return `local admitted = ${admitted}\nif not admitted then cost = 0 end\n${parts.join('')}`;
}

function describeAll(limits: readonly Limit[]): string {
  const parts = limits.map((limit, i) => {
    const results = ['remaining', 'reset', 'nextAfter'].map((word) => word + i);
    return `local ${results.join(', ')}\n${inline(limit, i, 'describe', results)}`;
  });
  const numbers = limits.map((_, i) => `remaining${i}, retry${i}, reset${i}, nextAfter${i}`);
  return `${parts.join('')}return { us, ${numbers.join(', ')} }\n`;
}

/** The body of one function in place of a call, which would cost a closure and a call per request. */
function inline(limit: Limit, i: number, name: 'evaluate' | 'commit' | 'describe', results: readonly string[]): string {
  const { parameters, body, result } = twin(limit.algorithm.name).functions[name];
  const values: Readonly<Record<string, string>> = { key: `KEYS[${i + 1}]`, now: limit.algorithm.clock, cost: 'cost' };
  const inputs = parameters.map((word) => values[word] ?? word + i);
  return `do\nlocal ${parameters.join(', ')} = ${inputs.join(', ')}\n${body}${results.join(', ')} = ${result}\nend\n`;
}

/** Each algorithm with its functions in a table, for calls that are too rare to be worth inlining. */
function modules(limits: readonly Limit[]): string {
  const text = (name: string) => {
    const { helpers: own, functions } = twin(name);
    const texts = Object.entries(functions).map(
      ([called, { parameters, body, result }]) =>
        `local function ${called}(${parameters.join(', ')})\n${body}return ${result}\nend\n`,
    );
    const exported = Object.keys(functions)
      .map((called) => `${name}.${called} = ${called}\n`)
      .join('');
    return `local ${name} = {}\ndo\n${own}${texts.join('')}${exported}end\n`;
  };
  return namesOf(limits).map(text).join('');
}

/** After the limits' own arguments comes an amount for each; each is charged as far as there is room. */
function forceAll(limits: readonly Limit[]): string {
  const firstAmount = 3 + argumentsBefore(limits, limits.length);
  const calls = limits.map((limit, i) => {
    const { name, clock, args } = limit.algorithm;
    const carried = carry(name)
      .map((word) => word + i)
      .join(', ');
    const from = 3 + argumentsBefore(limits, i);
    const own = args.map((_, j) => `tonumber(ARGV[${from + j}])`).join(', ');
    return `local _, _, ${carried} = ${name}.evaluate(KEYS[${i + 1}], ${clock}, 0, ${own})
local room = ${name}.describe(KEYS[${i + 1}], ${clock}, ${own}, ${carried})
local amount = math.min(tonumber(ARGV[${firstAmount + i}]), room)
if amount > 0 then
${name}.commit(KEYS[${i + 1}], ${clock}, amount, ${own}, ${carried})
charged = charged + amount
end
`;
  });
  return `local charged = 0\n${calls.map((call) => `do\n${call}end\n`).join('')}return charged\n`;
}

/** The last key marks the decision as refunded, so that a second refund of it does nothing. */
function refundAll(limits: readonly Limit[]): string {
  const marker = `KEYS[${limits.length + 1}]`;
  const calls = limits.map((limit, i) => {
    const { name, clock, args } = limit.algorithm;
    const inputs = args.map((_, j) => `tonumber(ARGV[${5 + argumentsBefore(limits, i) + j}])`);
    return `given = given + ${name}.refund(${[`KEYS[${i + 1}]`, clock, 'cost', 'atUs', ...inputs].join(', ')})\n`;
  });
  return `local atUs, given = tonumber(ARGV[3]), 0
if redis.call('EXISTS', ${marker}) == 1 then return 0 end
${calls.join('')}if given > 0 then redis.call('SET', ${marker}, '1', 'PX', tonumber(ARGV[4])) end
return given\n`;
}

const namesOf = (limits: readonly Limit[]): string[] => [...new Set(limits.map((limit) => limit.algorithm.name))];
const numbered = (words: readonly string[], i: number): string => words.map((word) => word + i).join(', ');

function argumentsBefore(limits: readonly Limit[], index: number): number {
  return limits.slice(0, index).reduce((sum, limit) => sum + limit.algorithm.args.length, 0);
}

/** The values that make up an evaluated state in Lua: what `commit` takes beside the common parameters. */
function carry(name: string): readonly string[] {
  const { args } = algorithms[name] as Algorithm;
  return twin(name).functions.commit.parameters.slice(3 + args.length);
}

function twin(name: string): LuaTwin {
  const found = luaTwins[name];
  if (found === undefined) throw new Error(`no Lua twin for ${name}`);
  return found;
}
