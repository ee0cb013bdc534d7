// The load that one process makes on one limiter: closed loops for speed, a steady pace for faults and accuracy.

/** Limits of the four loads. Hot keys are one subject; `windowMs` is short, so that a run sees many windows. */
export const MODES = {
  below: { title: '1 hot key, admitted', limit: 10_000_000, windowMs: 1000 },
  refused: { title: '1 hot key, refused', limit: 100, windowMs: 1000 },
  uniform: { title: '10,000 keys, uniform', limit: 100, windowMs: 1000 },
  zipf: { title: '1,000,000 keys, Zipf', limit: 100, windowMs: 1000 },
};

const UNIFORM_KEYS = 10_000;
const ZIPF_KEYS = 1_000_000;
const ZIPF_DRAWS = 1 << 18;
const LATENCIES = 1 << 17;

/** A rank from 1 to n whose chance is close to 1 / rank (exponent 1), from a number between 0 and 1. */
export function zipfRank(random, n) {
  return Math.min(n, Math.max(1, Math.round(0.5 * (2 * n + 1) ** random)));
}

/** Subjects in the order in which they are asked for, again and again. */
export function subjectsOf(mode) {
  if (mode === 'uniform') return Array.from({ length: UNIFORM_KEYS }, (_, i) => `u${(i * 7919) % UNIFORM_KEYS}`);
  if (mode === 'zipf') return Array.from({ length: ZIPF_DRAWS }, () => `z${zipfRank(Math.random(), ZIPF_KEYS)}`);
  return [mode];
}

/** A decision that Redis made; what else there is are answers without it, errors, and none at all. */
export const isDecided = (answer) => answer === 0 || answer === 1;
/** Let through, by whomever. */
export const isAdmitted = (answer) => answer === 1 || answer === 2;

class Tally {
  constructor() {
    this.admitted = 0;
    this.refused = 0;
    this.degraded = 0;
    this.errors = 0;
    this.firstError = undefined;
  }

  add(answer) {
    if (answer === 1) this.admitted++;
    else if (answer === 0) this.refused++;
    else this.degraded++;
  }

  fail(error) {
    this.errors++;
    this.firstError ??= String(error);
  }
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

/**
 * Keeps `inFlight` decisions under way for a while. Every eighth decision is timed, at one in flight each. Loops that
 * are answered at once give way to the sockets now and then, or what they wait for elsewhere would never arrive.
 */
export async function closedLoop(decide, subjects, { inFlight, ms }) {
  const tally = new Tally();
  const latencies = new Float64Array(LATENCIES);
  const every = inFlight === 1 ? 1 : 8;
  let [asked, timed] = [0, 0];
  const cpu = process.cpuUsage();
  const startMs = performance.now();
  const endMs = startMs + ms;
  let isOver = false;
  const worker = async () => {
    for (let i = 1; !isOver; i++) {
      const n = asked++;
      const sentMs = n % every === 0 ? performance.now() : 0;
      if (sentMs > endMs) {
        isOver = true;
        return;
      }
      try {
        const answer = decide(subjects[n % subjects.length]);
        tally.add(typeof answer === 'number' ? answer : await answer);
      } catch (error) {
        tally.fail(error);
      }
      if (sentMs > 0) latencies[timed++ % LATENCIES] = performance.now() - sentMs;
      if (i % 64 === 0) await turn();
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  const tookMs = performance.now() - startMs;
  const { user, system } = process.cpuUsage(cpu);
  const sorted = latencies.subarray(0, Math.min(timed, LATENCIES)).sort();
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] * 1000;
  return { ...tally, tookMs, cpuUs: user + system, p50Us: at(0.5), p99Us: at(0.99) };
}

/** As fast as one process can, without promises where there are none. Processor time tells, not the clock. */
export async function bareLoop(decide, subjects, { ms }) {
  const tally = new Tally();
  const cpu = process.cpuUsage();
  const startMs = performance.now();
  let calls = 0;
  let nowMs = startMs;
  const isPromise = typeof decide(subjects[0]) !== 'number';
  for (; nowMs < startMs + ms; nowMs = performance.now()) {
    for (let i = 0; i < 256; i++) {
      const answer = decide(subjects[calls++ % subjects.length]);
      tally.add(isPromise ? await answer : answer);
    }
  }
  const { user, system } = process.cpuUsage(cpu);
  return { ...tally, cpuUs: user + system };
}

/** One decision about each of `count` subjects, `each` times: for the memory that they take. */
export async function fill(decide, { count, each }) {
  let next = 0;
  const worker = async () => {
    while (next < count * each) {
      const subject = `m${next++ % count}`;
      while (!isDecided(await decide(subject))) await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  await Promise.all(Array.from({ length: 32 }, worker));
}

/** `perSecond` decisions for a while, whatever becomes of them: each `[sent, answered, answer]`, in ms of the epoch. */
export async function paced(decide, subject, { perSecond, ms }) {
  const records = [];
  const ended = [];
  const startMs = Date.now();
  for (let sent = 0; Date.now() - startMs < ms; ) {
    for (const due = ((Date.now() - startMs) * perSecond) / 1000; sent < due; sent++) {
      ended.push(recorded(decide, subject, records));
    }
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  await Promise.race([Promise.all(ended), new Promise((resolve) => setTimeout(resolve, 12_000))]);
  return records;
}

/** Appends at once, and completes when the answer is there; `e` stands for an error, `undefined` for none yet. */
async function recorded(decide, subject, records) {
  const record = [performance.timeOrigin + performance.now(), undefined, undefined];
  records.push(record);
  const answer = await Promise.resolve()
    .then(() => decide(subject))
    .catch(() => 'e');
  record[1] = performance.timeOrigin + performance.now();
  record[2] = answer;
}

/** `count` decisions at once at the time `atMs`. */
export async function burst(decide, subject, { count, atMs }) {
  const records = [];
  await new Promise((resolve) => setTimeout(resolve, atMs - Date.now()));
  await Promise.all(Array.from({ length: count }, () => recorded(decide, subject, records)));
  return records;
}
