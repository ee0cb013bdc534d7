import { parseArgs } from 'node:util';

/** Ends this process with a line about what somebody wrote. */
export function refuse(text) {
  console.error(text);
  process.exit(2);
}

/** The number that a text stands for; ends with a line where it is none within the range. Whole unless told. */
export function numberOf(name, text, { from = 1, to = 1_000_000, isWhole = true } = {}) {
  const value = String(text).trim() === '' ? Number.NaN : Number(text);
  if (value >= from && value <= to && (!isWhole || Number.isInteger(value))) return value;
  const range = `from ${from} to ${to.toLocaleString('en-US')}`;
  return refuse(`${name}: expected a ${isWhole ? 'whole ' : ''}number ${range}, got "${text}"`);
}

/** A number from the environment, or what there is when it says nothing. */
export function settingOf(name, otherwise, range) {
  return numberOf(name, process.env[name] ?? otherwise, range);
}

/** How many rounds to run: BENCH_ROUNDS, 1 to 1000. */
export const roundsOr = (otherwise) => settingOf('BENCH_ROUNDS', otherwise, { to: 1000 });

/** Options of the command line, as `parseArgs` takes them; what cannot be meant ends it with a line. */
export function flagsOf(options) {
  try {
    return parseArgs({ options }).values;
  } catch (error) {
    const known = Object.keys(options).map((name) => `--${name}`);
    return refuse(`${error.message.split('. ')[0]}; there are ${known.join(', ')}`);
  }
}

/** Flags that are numbers, by what they are when left out, then the values of all; BENCH_ROUNDS stands for --rounds. */
export function numbersOf(defaults, more = {}) {
  const texts = Object.entries({ ...defaults, rounds: roundsOr(defaults.rounds) });
  const flags = texts.map(([name, value]) => [name, { type: 'string', default: String(value) }]);
  const values = flagsOf({ ...Object.fromEntries(flags), ...more });
  return [...texts.map(([name]) => numberOf(`--${name}`, values[name])), values];
}
