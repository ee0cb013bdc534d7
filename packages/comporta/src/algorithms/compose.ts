import { sha1Hex } from '../core/hash.js';
import type { Limit } from './algorithm.js';
import { luaTwins } from './registry.gen.js';

/** A script as it is sent: its text, and the SHA-1 that a server caches it under. */
export interface Script {
  readonly text: string;
  readonly sha: string;
}

export type Operation = 'consume' | 'peek' | 'refund' | 'reset';

/** Keys and arguments that come before the first limit's own. */
const HEAD = `local TTL_MARGIN_MS, TOTAL_MAX = 1000, 999999999999999
local function packNumbers(...)
  return struct.pack(string.rep('d', select('#', ...)), ...)
end
local function unpackNumbers(value)
  return struct.unpack(string.rep('d', #value / 8), value)
end
local us = tonumber(ARGV[1])
if not us then
  local time = redis.call('TIME')
  us = time[1] * 1000000 + time[2]
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
  consume: (limits) => `#!lua\n${HEAD}${functions(limits)}${evaluateAll(limits)}${commitAll(limits)}return reply\n`,
  peek: (limits) => `#!lua flags=no-writes\n${HEAD}${functions(limits)}${evaluateAll(limits)}return reply\n`,
  refund: (limits) => `#!lua\n${HEAD}${functions(limits)}${refundAll(limits)}`,
  // Freeing memory must work on a full server too.
  reset: () => `#!lua flags=allow-oom\nlocal removed = 0\nfor i = 1, #KEYS do removed = removed + redis.call('DEL', KEYS[i]) end\nreturn removed\n`,
};

/** Each algorithm's functions once, in a table of its own. */
function functions(limits: readonly Limit[]): string {
  const names = [...new Set(limits.map((limit) => limit.algorithm.name))];
  return names
    .map((name) => `local ${name} = {}\ndo\n${twin(name).code}\n${name}.evaluate, ${name}.commit, ${name}.refund = evaluate, commit, refund\nend\n`)
    .join('');
}

function evaluateAll(limits: readonly Limit[]): string {
  const parts = limits.map((limit, i) => {
    const { name, clock } = limit.algorithm;
    const results = ['remaining', 'retry', 'reset', 'nextAfter', 'stepped', ...carry(limit)].map((word) => word + i);
    const from = 3 + argumentsBefore(limits, i);
    const inputs = limit.algorithm.args.map((word, j) => `local ${word}${i} = tonumber(ARGV[${from + j}])\n`).join('');
    const call = [`KEYS[${i + 1}]`, clock, 'cost', ...limit.algorithm.args.map((word) => word + i)].join(', ');
    return `${inputs}local ${results.join(', ')} = ${name}.evaluate(${call})\n`;
  });
  const numbers = limits.map((_, i) => `remaining${i}, retry${i}, reset${i}, nextAfter${i}`);
  return `${parts.join('')}local reply = { us, ${numbers.join(', ')} }\n`;
}

function commitAll(limits: readonly Limit[]): string {
  const call = (limit: Limit, i: number, cost: string) => {
    const { name, clock, args } = limit.algorithm;
    const inputs = [`KEYS[${i + 1}]`, clock, cost, ...args.map((word) => word + i), ...carry(limit).map((word) => word + i)];
    return `${name}.commit(${inputs.join(', ')})`;
  };
  const admitted = limits.map((_, i) => `retry${i} == 0`).join(' and ');
  const charge = limits.map((limit, i) => {
    const first = 2 + i * 4;
    return `reply[${first}], reply[${first + 2}], reply[${first + 3}] = ${call(limit, i, 'cost')}\n`;
  });
  const settle = limits.map((limit, i) => `if stepped${i} then ${call(limit, i, '0')} end\n`);
  return `if ${admitted} then\n${charge.join('')}else\n${settle.join('')}end\n`;
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

function argumentsBefore(limits: readonly Limit[], index: number): number {
  return limits.slice(0, index).reduce((sum, limit) => sum + limit.algorithm.args.length, 0);
}

/** What `evaluate` hands to `commit` beside the common values. */
function carry(limit: Limit): readonly string[] {
  return twin(limit.algorithm.name).signatures.commit.slice(3 + limit.algorithm.args.length);
}

function twin(name: string): (typeof luaTwins)[string] {
  const found = luaTwins[name];
  if (found === undefined) throw new Error(`no Lua twin for ${name}`);
  return found;
}
