import type { Limit } from './algorithm.js';
import type { Gates, Place } from './compose-gates.js';
import { argumentsBefore, checkSpans, headOf, helpersFor } from './compose-parts.js';

/** Begins an entry of a reply that has no numbers: what a shut gate said follows, or the error of its own. */
export const SHUT = -1;
export const FAILED = -2;

/** Looked up once, and not with every use in every entry. */
const NAMES = 'redis, struct, math, string, tonumber, KEYS, ARGV';

/** Values are read and written once for all entries of a subject. */
const VALUES = `local values, lifetimes = {}, {}
local function read(key)
local value = values[key]
if value == nil then
value = redis.call('GET', key)
values[key] = value
end
return value
end
local function write(key, value, _, lifetime)
values[key], lifetimes[key] = value, lifetime
end
`;

/** Puts the numbers of an entry into the reply. */
export const noted = (numbers: readonly string[]): string =>
  `${numbers.map((_, i) => `reply[at + ${i + 1}]`).join(', ')} = ${numbers.join(', ')}\n`;

/** Whether what one subject is asked for at one cost may be charged at once, and is told by the sum. */
export const areSummed = (limits: readonly Limit[], gates: Gates): boolean =>
  limits.every(({ algorithm }) => algorithm.sum !== undefined) && !Object.values(gates).includes(true);

/** As {@link noted}; all at once when all fit, and else they are decided again one after the other. */
export const notedSum =
  (limits: readonly Limit[]) =>
  (numbers: readonly string[]): string => {
    const words = limits.flatMap(({ algorithm }, i) => algorithm.sum?.words.map((word) => word + i) ?? []);
    return `if together == 1 then
${noted(numbers)}elseif admitted then
reply = { us, ${words.join(', ')} }
else
entry, together = 0, 1
end
`;
  };

/** A charge of several decisions, where each of them is stored by itself. */
export const each = ({ algorithm }: Limit, commit: string): string =>
  algorithm.sum?.isLog ? `local cost = cost / together\nfor _ = 1, together do\n${commit}end\n` : commit;

/** Keys that live equally long share the text of their lifetime: making one of a number costs a tenth of a command. */
const STORE = `local texts = {}
for key, lifetime in pairs(lifetimes) do
local text = texts[lifetime]
if not text then
text = string.format('%.0f', lifetime)
texts[lifetime] = text
end
redis.call('SET', key, values[key], 'PX', text)
end
`;

/**
 * Decides entries one after the other, at one time, with the text that decides one. Arguments: the clock, how many
 * entries, those of the limits; then for each entry its cost, and what the gates and the limits take of it; where that
 * is nothing and all costs are equal that cost, or nothing when it is 1. Keys: of each entry, or only once when all are
 * of one subject. Entries that are alike in all of this are first tried as one. An error is its entry's alone: limits
 * read before they write. What ends an entry early ends `run`, which then goes on.
 */
export function many(place: Place, decide: string): string {
  const { limits, gates, firstArgument } = place;
  const shared = argumentsBefore(limits, limits.length);
  const firstEntry = firstArgument + shared;
  const width = 4 * limits.length;
  const isSum = areSummed(limits, gates);
  const holder = limits.some(({ algorithm }) => algorithm.holds) ? 'holder = ARGV[argument + words - 1]\n' : '';
  return `#!lua
local ${NAMES} = ${NAMES}
${headOf(limits)}${checkSpans(limits, firstArgument)}local count, reply = cost, { us }
${helpersFor(limits, decide)}${VALUES}local args, words, step, entry = {}, (#ARGV - ${firstEntry - 1}) / count, 0, 0
for i = 1, ${shared} do args[i] = tonumber(ARGV[${firstArgument} + i - 1]) end
if words < 1 then words = 0 end
if #KEYS > ${keysOf(place)} then step = ${keysOf(place)} end
${isSum ? 'local together = 1\nif step + words == 0 then together = count end\n' : ''}local function run()
while entry < count do
local key, argument, at = entry * step, ${firstEntry} + entry * words, 1 + entry * ${width}
entry = entry + ${isSum ? 'together' : '1'}
local cost = ${isSum ? '(tonumber(ARGV[argument]) or 1) * together' : 'tonumber(ARGV[argument]) or 1'}
${holder}${rebased(decide, firstArgument, firstEntry)}end
end
while entry < count do
local isDone, found = pcall(run)
local at = 1 + (entry - 1) * ${width}
if not isDone${isSum ? ' and together > 1 then\nentry, together = 0, 1\nelseif not isDone' : ''} then
local text = type(found) == 'table' and found.err or tostring(found)
if not string.find(text, '^%u+ ') then text = 'ERR ' .. text end
reply[at + 1], reply[at + 2] = ${FAILED}, text
elseif found then
reply[at + 1], reply[at + 2] = ${SHUT}, found[2]
end
if found then
for j = 3, ${width} do reply[at + j] = 0 end
end
end
${STORE}return reply
`;
}

/** How many keys an entry has. */
const keysOf = ({ limits, gates: { areBlockable, arePunished, haveTerms } }: Place): number =>
  limits.length + Number(areBlockable) + Number(arePunished) + Number(haveTerms);

/** The text that decides one, where its keys and its own arguments stand behind those of others. */
function rebased(text: string, firstArgument: number, firstEntry: number): string {
  return text
    .replaceAll("redis.call('GET', key)", 'read(key)')
    .replaceAll("redis.call('SET', key, ", 'write(key, ')
    .replace(/KEYS\[(\d+)\]/g, 'KEYS[key + $1]')
    .replace(/tonumber\(ARGV\[(\d+)\]\)|ARGV\[(\d+)\] \+ 0|ARGV\[(\d+)\]/g, (whole, ...found) => {
      const index = Number(found[0] ?? found[1] ?? found[2]);
      if (index < firstEntry) return `args[${index - firstArgument + 1}]`;
      return whole.replace(/\d+/, `argument + ${index - firstEntry + 1}`);
    });
}
