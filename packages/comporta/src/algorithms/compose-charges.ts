import type { Limit } from './algorithm.js';
import { type Gates, openGates } from './compose-gates.js';
import { argumentsBefore, carry, checkSpans, headOf, modules, twin } from './compose-parts.js';

/**
 * The scripts that charge and give back without a plain decision. They run rarely, so they call the
 * algorithms' functions instead of inlining them. The limits' own arguments begin at `ARGV[3]`, after
 * the clock and the cost, unless a script says otherwise.
 */
type Text = (limits: readonly Limit[], gates: Gates) => string;

/** Most reservations that one script gives back for callers that died: more wait for the next. */
const SWEPT_MAX = 100;

const script = (limits: readonly Limit[], firstArgument: number, body: string): string =>
  `#!lua\n${headOf(limits)}${checkSpans(limits, firstArgument)}${modules(limits)}${body}`;

/** What the functions of limit `i` are called with, and the names of the state between them. */
function callOf(limits: readonly Limit[], i: number, firstArgument: number) {
  const { name, clock, args, holds } = (limits[i] as Limit).algorithm;
  const first = firstArgument + argumentsBefore(limits, i);
  const own = args.map((_, j) => `tonumber(ARGV[${first + j}])`).join(', ');
  return { name, key: `KEYS[${i + 1}]`, clock, own, carried: carry(name).join(', '), holds: holds === true };
}

const forEach = (limits: readonly Limit[], firstArgument: number, body: (i: number, call: Call) => string): string =>
  limits.map((_, i) => `do\n${body(i, callOf(limits, i, firstArgument))}end\n`).join('');

type Call = ReturnType<typeof callOf>;

/** As {@link forEach}, without the limits whose places are held: what they count has no cost. */
const forEachCost: typeof forEach = (limits, firstArgument, body) =>
  forEach(limits, firstArgument, (i, call) => (call.holds ? '' : body(i, call)));

const evaluated = ({ name, key, clock, own, carried }: Call, cost: string): string =>
  `local retry, stepped, ${carried} = ${name}.evaluate(${key}, ${clock}, ${cost}, ${own})\n`;

const committed = ({ name, key, clock, own, carried }: Call, amount: string): string =>
  `${name}.commit(${key}, ${clock}, ${amount}, ${own}, ${carried})\n`;

const refunded = ({ name, key, clock, own }: Call, amount: string, atUs: string): string =>
  `${name}.refund(${key}, ${clock}, ${amount}, ${atUs}, ${own})`;

/** Ends a script with `word` and the four numbers of each limit, as a request of cost 1 would find them. */
const answer = (limits: readonly Limit[], firstArgument: number, word: string): string =>
  `local reply = { us, ${word} }
${forEach(
  limits,
  firstArgument,
  (_, call) => `${evaluated(call, '1')}local remaining, reset, nextAfter = ${call.name}.describe(${call.key}, ${
    call.clock
  }, ${call.own}, ${call.carried})
for _, number in ipairs({ remaining, retry, reset, nextAfter }) do reply[#reply + 1] = number end
`,
)}return reply
`;

/** After the limits' own arguments comes an amount for each; each is charged as far as there is room. */
export const force: Text = (limits) => {
  const firstAmount = 3 + argumentsBefore(limits, limits.length);
  const body = (i: number, call: Call) => `${evaluated(call, '0')}local room = ${call.name}.describe(${call.key}, ${
    call.clock
  }, ${call.own}, ${call.carried})
local amount = math.min(tonumber(ARGV[${firstAmount + i}]), room)
if amount > 0 then
${committed(call, 'amount')}charged = charged + amount
end
`;
  return script(limits, 3, `local charged = 0\n${forEachCost(limits, 3, body)}return charged\n`);
};

/** The last key marks the decision as refunded, so that a second refund of it does nothing. Then: its time, TTL. */
export const refund: Text = (limits) => {
  const marker = `KEYS[${limits.length + 1}]`;
  const body = (_: number, call: Call) => `given = given + ${refunded(call, 'cost', 'atUs')}\n`;
  return script(
    limits,
    5,
    `local atUs, given = tonumber(ARGV[3]), 0
if redis.call('EXISTS', ${marker}) == 1 then return 0 end
${forEach(limits, 5, body)}if given > 0 then redis.call('SET', ${marker}, '1', 'PX', tonumber(ARGV[4])) end
return given
`,
  );
};

/** Charges every limit the cost, whether it has room or not. */
export const charge: Text = (limits) =>
  script(
    limits,
    3,
    `${forEachCost(limits, 3, (_, call) => evaluated(call, '0') + committed(call, 'cost'))}${answer(limits, 3, '1')}`,
  );

/** Gives back the newest use, whoever's it was: where an algorithm has no way of its own, as if charged just now. */
export const reward: Text = (limits) => {
  const body = (_: number, call: Call) => {
    const { name, key, clock, own } = call;
    const hasOwn = twin(name).functions.reward !== undefined;
    return `${hasOwn ? `${name}.reward(${key}, ${clock}, cost, ${own})` : refunded(call, 'cost', 'us')}\n`;
  };
  return script(limits, 3, `${forEachCost(limits, 3, body)}${answer(limits, 3, '1')}`);
};

/** Gives back what is reserved beyond its time, for callers that died. Members: id, cost, time of the charge. */
const sweep = (limits: readonly Limit[], pending: string, firstArgument: number): string => {
  const holds = limits.some(({ algorithm }) => algorithm.holds);
  const each = (call: Call) => `for _, charge in ipairs(due) do
${holds ? 'holder = charge.id\n' : ''}${refunded(call, 'charge.cost', 'charge.atUs')}
end
`;
  const back = (_: number, call: Call) => {
    const { name, key, clock, own } = call;
    const isTogether = twin(name).functions.refundAll !== undefined;
    return isTogether ? `${name}.refundAll(${key}, ${clock}, due, ${own})\n` : each(call);
  };
  return `local due = {}
for i, member in ipairs(redis.call('ZRANGEBYSCORE', ${pending}, '-inf', us, 'LIMIT', 0, ${SWEPT_MAX})) do
redis.call('ZREM', ${pending}, member)
local id, reserved, atUs = string.match(member, '^(.*):(%d+):(%d+)$')
due[i] = { id = id, cost = tonumber(reserved), atUs = tonumber(atUs) }
end
if due[1] then
${forEach(limits, firstArgument, back)}end
${holds ? 'holder = ARGV[#ARGV]\n' : ''}`;
};

/**
 * As a decision, which is also noted under the last key, to be given back when nobody settles it in time.
 * Arguments before the limits' own: id, how long it holds, how long the note outlives that (both in ms).
 * The word is 1 when admitted.
 */
export const reserve: Text = (limits, gates) => {
  const pending = `KEYS[${limits.length + 1}]`;
  const place = { limits, gates, keysBefore: limits.length + 1, firstArgument: 6, mayWrite: true };
  const decide = (i: number, call: Call) => `${evaluated(call, 'cost')}retries[${i + 1}] = retry
if retry ~= 0 then admitted = 0 end
if stepped then ${committed(call, '0')}end
`;
  const commit = (_: number, call: Call) => `${evaluated(call, '0')}${committed(call, 'cost')}`;
  const state = (i: number, call: Call) => `${evaluated(call, '0')}local remaining, reset, nextAfter = ${
    call.name
  }.describe(${call.key}, ${call.clock}, ${call.own}, ${call.carried})
for _, number in ipairs({ remaining, retries[${i + 1}], reset, nextAfter }) do reply[#reply + 1] = number end
`;
  return script(
    limits,
    6,
    `${openGates(place)}${sweep(limits, pending, 6)}local retries, admitted = {}, 1
${forEach(limits, 6, decide)}if admitted == 1 then
${forEach(limits, 6, commit)}local untilUs = us + tonumber(ARGV[4]) * 1000
redis.call('ZADD', ${pending}, untilUs, string.format('%s:%.0f:%.0f', ARGV[3], cost, us))
local lastUs = tonumber(redis.call('ZRANGE', ${pending}, -1, -1, 'WITHSCORES')[2])
redis.call('PEXPIRE', ${pending}, math.ceil((lastUs - us) / 1000) + tonumber(ARGV[5]))
end
local reply = { us, admitted }
${forEach(limits, 6, state)}return reply
`,
  );
};

/**
 * Puts the real cost in place of a reserved one. The last keys: the mark that a decision was given back or
 * settled, and where reservations are noted. Arguments before the limits' own: reserved cost, its time, when
 * it ends (us), TTL of the mark, its note (empty where none was made). The word: 1 settled, 0 that was done
 * before, -1 too late.
 */
export const settle: Text = (limits) => {
  const [marker, pending] = [`KEYS[${limits.length + 1}]`, `KEYS[${limits.length + 2}]`];
  const body = (_: number, call: Call) =>
    call.holds
      ? `${refunded(call, '0', '0')}\n`
      : `if cost < reserved then
${refunded(call, 'reserved - cost', 'atUs')}
elseif cost > reserved then
${evaluated(call, '0')}${committed(call, 'cost - reserved')}end
`;
  return script(
    limits,
    8,
    `local reserved, atUs, status = tonumber(ARGV[3]), tonumber(ARGV[4]), 1
if redis.call('EXISTS', ${marker}) == 1 then
status = 0
elseif us >= tonumber(ARGV[5]) or (ARGV[7] ~= '' and redis.call('ZREM', ${pending}, ARGV[7]) == 0) then
status = -1
else
${forEach(limits, 8, body)}redis.call('SET', ${marker}, '1', 'PX', tonumber(ARGV[6]))
end
${answer(limits, 8, 'status')}`,
  );
};

/** The limits whose places are held, with what a script does to each: it ends with how many of them did it. */
const forPlaces = (limits: readonly Limit[], done: (call: Call) => string): string =>
  script(
    limits,
    3,
    `local done = 0
${forEach(limits, 3, (_, call) => (call.holds ? `done = done + ${done(call)}\n` : ''))}return { us, done }
`,
  );

/** Frees the places of a holder; on a full server too. */
export const release: Text = (limits) =>
  forPlaces(limits, (call) => refunded(call, '0', '0')).replace('#!lua\n', '#!lua flags=allow-oom\n');

/** Holds the places for another lease. */
export const renew: Text = (limits) =>
  forPlaces(limits, ({ name, key, clock, own }) => `${name}.renew(${key}, ${clock}, ${own})`);
