import { type Algorithm, type Limit, TTL_MARGIN_MS } from './algorithm.js';
import { TOTAL_MAX, USE_MAX } from './ranges.js';
import { algorithms, type LuaTwin, luaTwins } from './registry.gen.js';

/** An argument as a number: `tonumber` is a call, and a script has a handful of them. */
export function numberOf(index: number): string {
  return `ARGV[${index}] + 0`;
}

/** Constants and the two clocks, before anything else in every script that decides or charges. */
const HEAD: string = `local TTL_MARGIN_MS, TOTAL_MAX, USE_MAX = ${TTL_MARGIN_MS}, ${TOTAL_MAX}, ${USE_MAX}
local us
if ARGV[1] == '' then
local time = redis.call('TIME')
us = time[1] * 1000000 + time[2]
else
us = tonumber(ARGV[1])
end
local ms = (us - us % 1000) / 1000
local cost = ${numberOf(2)}
`;

/** As {@link HEAD}; where places are held the last argument of all is the holder. */
export const headOf = (limits: readonly Limit[]): string =>
  limits.some(({ algorithm }) => algorithm.holds) ? `${HEAD}local holder = ARGV[#ARGV]\n` : HEAD;

/** Arguments that hold for a span of time only: at another the script ends here, before it reads or writes anything. */
export function checkSpans(limits: readonly Limit[], firstArgument: number): string {
  const checks = limits.map(({ algorithm: { span, args } }, i) => {
    if (span === undefined) return '';
    const first = firstArgument + argumentsBefore(limits, i);
    const [from, until] = span.map((word) => `tonumber(ARGV[${first + args.indexOf(word)}])`);
    return `if ms < ${from} or ms >= ${until} then return { us } end\n`;
  });
  return checks.join('');
}

const namesOf = (limits: readonly Limit[]): string[] => [...new Set(limits.map((limit) => limit.algorithm.name))];

export const numbered = (words: readonly string[], i: number): string => words.map((word) => word + i).join(', ');

export function argumentsBefore(limits: readonly Limit[], index: number): number {
  return limits.slice(0, index).reduce((sum, limit) => sum + limit.algorithm.args.length, 0);
}

/** The values that make up an evaluated state in Lua: what `commit` takes beside the common parameters. */
export function carry(name: string): readonly string[] {
  const { args } = algorithms[name] as Algorithm;
  return twin(name).functions.commit.parameters.slice(3 + args.length);
}

export function twin(name: string): LuaTwin {
  const found = luaTwins[name];
  if (found === undefined) throw new Error(`no Lua twin for ${name}`);
  return found;
}

/**
 * The helpers that a text needs, itself or through one another. To make a function costs time in every call, so one
 * that a single other helper calls is made inside that.
 */
function nested(limits: readonly Limit[], text: string): string[] {
  const found: { text: string }[] = [];
  for (const own of namesOf(limits).flatMap((name) => twin(name).helpers.toReversed())) {
    const calls = (other: string) => other.includes(callOf(own));
    const users = found.filter((other) => calls(other.text));
    const [user] = users;
    if (user !== undefined && users.length === 1 && !calls(text)) user.text = user.text.replace('\n', () => `\n${own}`);
    else if (user !== undefined || calls(text)) found.unshift({ text: own });
  }
  return found.map((each) => each.text);
}

/** How calls of a helper begin. */
const callOf = (helper: string): string => helper.slice('local function '.length, helper.indexOf('(') + 1);

export const helpersFor = (limits: readonly Limit[], text: string): string => nested(limits, text).join('');

/** A text behind its helpers; those that are seldom called are made where they are, and cost most calls nothing. */
export function withHelpers(limits: readonly Limit[], text: string): string {
  const helpers = nested(limits, text);
  const seldom = new Set(limits.flatMap(({ algorithm }) => twin(algorithm.name).seldom.map((name) => `${name}(`)));
  const isInside = (own: string) =>
    seldom.has(callOf(own)) && !helpers.some((other) => other !== own && other.includes(callOf(own)));
  const before = helpers.filter((each) => !isInside(each)).join('');
  const lines = text.split(/(?<=\n)/);
  const whole = lines.map((line) => [...helpers.filter((own) => isInside(own) && line.includes(callOf(own))), line]);
  return before + whole.flat().join('');
}

/** Each algorithm with its functions in a table, for calls that are too rare to be worth inlining. */
export function modules(limits: readonly Limit[]): string {
  const text = (name: string) => {
    const { helpers: own, functions } = twin(name);
    const texts = Object.entries(functions).map(
      ([called, { parameters, body, result }]) =>
        `local function ${called}(${parameters.join(', ')})\n${body}return ${result}\nend\n`,
    );
    const exported = Object.keys(functions)
      .map((called) => `${name}.${called} = ${called}\n`)
      .join('');
    return `local ${name} = {}\ndo\n${own.join('')}${texts.join('')}${exported}end\n`;
  };
  return namesOf(limits).map(text).join('');
}
