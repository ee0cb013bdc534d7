import type { Limit } from '../../packages/comporta/src/algorithms/algorithm.js';
import { compose, type Script } from '../../packages/comporta/src/algorithms/compose.js';
import { withIds } from '../../packages/comporta/src/algorithms/limits.js';
import { memoryStore } from '../../packages/comporta/src/stores/memory.js';
import { PRESENCE_SCRIPT } from '../../packages/comporta/src/stores/presence-script.js';
import type { ActionReply, Plan, PolicyStore, Store, StoreReply } from '../../packages/comporta/src/stores/store.js';
import { type Costs, costsOf } from './costs.js';
import type { EventLoop } from './event-loop.js';

/** What the library's scripts are, by their names. */
const OPERATIONS = ['consume', 'consumeMany', 'take', 'refund', 'force'] as const;
type Operation = (typeof OPERATIONS)[number] | 'beat';

/** A memory store in which every operation is there, and answers at once. */
type Memory = Required<PolicyStore>;

export interface ServerSettings {
  readonly loop: EventLoop;
  /** All policies count by the same algorithms. */
  readonly limits: readonly Limit[];
  /** How many times as long as measured it takes for everything. */
  readonly slowdown?: number;
  /** Told of every decision that admits, at the server's time. */
  readonly onAdmitted?: (policy: string, subject: string, atUs: number) => void;
}

/** How the server can be away. `silent`: what reaches it is lost. `refusing`: connections end, and none is taken. */
export type Outage = 'silent' | 'refusing';

/** The far end of a connection. */
export interface Link {
  /** The server has ended it. */
  lost(): void;
}

/** What a server was asked to do, by operation. */
type Calls = Record<Operation, number>;

const noCalls = (): Calls => ({ consume: 0, consumeMany: 0, take: 0, refund: 0, force: 0, beat: 0 });

/**
 * A Redis server: runs one command after the other, each for as long as measured, on the memory store that the
 * scripts are held to be equal to. Its numbers come from what was sent, not from what the processes are set to.
 */
export class SimulatedServer {
  readonly #loop: EventLoop;
  readonly #limits: Plan['limits'];
  readonly #memory: Store;
  readonly #operations: Map<string, Operation> = new Map();
  readonly #texts: Map<string, Script> = new Map();
  readonly #loaded: Set<string> = new Set();
  readonly #policies: Map<string, Memory> = new Map();
  readonly #onAdmitted: ServerSettings['onAdmitted'];
  readonly #links: Set<Link> = new Set();
  readonly #costs: Costs;
  /** When the command that runs now began. */
  #atUs = 0;
  #freeAtUs = 0;
  outage: Outage | undefined;
  calls: Calls = noCalls();
  /** Decisions asked for, whatever they came with. */
  decided = 0;
  /** µs of its processor. */
  busyUs = 0;
  /** Commands that came while it was away. */
  lost = 0;
  /** Units that were charged for what was admitted elsewhere. */
  paidBack = 0;
  /** Scripts whose text had to be sent. */
  taught = 0;
  /** Connections that were asked for. */
  connects = 0;

  constructor({ loop, limits, slowdown = 1, onAdmitted }: ServerSettings) {
    this.#loop = loop;
    this.#limits = withIds(limits);
    this.#onAdmitted = onAdmitted;
    const clock = { nowUs: () => this.#atUs, startTimer: loop.startTimer.bind(loop) };
    this.#memory = memoryStore({ clock, maxSubjects: 10_000_000 });
    this.#costs = costsOf(limits, slowdown);
    for (const operation of OPERATIONS) this.#know(compose(operation, limits), operation);
    this.#know(PRESENCE_SCRIPT, 'beat');
  }

  /** Stops for a while with all that it has to do. */
  freeze(seconds: number): void {
    this.#freeAtUs = Math.max(this.#freeAtUs, this.#loop.nowUs()) + seconds * 1e6;
  }

  /** Goes away. Who restarts has forgotten the scripts, and keeps the counts. */
  fail(outage: Outage): void {
    this.outage = outage;
    if (outage !== 'refusing') return;
    this.#loaded.clear();
    for (const link of this.#links) link.lost();
    this.#links.clear();
  }

  recover(): void {
    this.outage = undefined;
  }

  /** Takes a connection, or does not; `undefined`: nothing comes back. */
  accept(link: Link): boolean | undefined {
    this.connects++;
    if (this.outage === 'silent') return undefined;
    if (this.outage === 'refusing') return false;
    this.#links.add(link);
    return true;
  }

  /** How long the newest command has to wait. */
  get queueMs(): number {
    return Math.max(0, this.#freeAtUs - this.#loop.nowUs()) / 1000;
  }

  /** Begins to count anew. */
  resetFigures(): void {
    this.calls = noCalls();
    this.decided = 0;
    this.busyUs = 0;
    this.lost = 0;
    this.connects = 0;
  }

  /** Runs a command that has just come in; the reply, or the error, leaves at `doneUs`. */
  receive(command: readonly string[], from: string, answer: (reply: unknown, doneUs: number) => void): void {
    if (this.outage !== undefined) {
      this.lost++;
      return;
    }
    this.#atUs = Math.floor(Math.max(this.#loop.nowUs(), this.#freeAtUs));
    const busyFromUs = this.busyUs;
    const reply = this.#reply(command, from);
    this.#freeAtUs = Math.max(this.#loop.nowUs(), this.#freeAtUs) + this.busyUs - busyFromUs;
    answer(reply, this.#freeAtUs);
  }

  /** Leaves a subject without a whole unit, whatever it has. */
  useUp(policy: string, limits: readonly Limit[], subject: string): void {
    this.#atUs = this.#loop.nowUs();
    const there = this.#policy(policy, limits.flatMap(({ args }) => args).map(String));
    const amounts = limits.map(({ limit }) => limit);
    there.force(subject, amounts);
  }

  #know(script: Script, operation: Operation): void {
    this.#operations.set(script.sha, operation);
    this.#texts.set(script.text, script);
  }

  #reply(command: readonly string[], from: string): unknown {
    const [verb, name = '', count, ...rest] = command;
    const sha = verb === 'EVAL' ? (this.#texts.get(name)?.sha ?? '') : name;
    if (verb === 'EVAL') {
      this.#loaded.add(sha);
      this.taught++;
    }
    const operation = this.#operations.get(sha);
    if (operation === undefined) throw new Error(`a command that is not simulated: ${verb}`);
    this.busyUs += this.#costs.firstUs;
    if (!this.#loaded.has(sha)) return new Error('NOSCRIPT No matching script.');
    this.calls[operation]++;
    const keys = rest.slice(0, Number(count));
    return this.#run(operation, keys, rest.slice(Number(count)), from);
  }

  #run(operation: Operation, keys: readonly string[], argv: readonly string[], from: string): unknown {
    if (operation === 'beat') return this.#beat(keys, from);
    const { policy, subject } = namesIn(keys[0] as string);
    const first = operation === 'refund' ? 4 : 2;
    const words = this.#limits.reduce((sum, { algorithm }) => sum + algorithm.args.length, first);
    const there = this.#policy(policy, argv.slice(first, words));
    const cost = Number(argv[1]);
    if (operation === 'consumeMany') {
      // One cost stands for all, and none for costs of 1.
      const sent = argv.slice(words).map(Number);
      const costs = sent.length > 1 ? sent : new Array<number>(cost).fill(sent[0] ?? 1);
      if (costs.length !== cost) throw new RangeError(`${costs.length} costs for ${cost} decisions`);
      return this.#decideAll(there, keys, costs);
    }
    if (operation === 'consume') return flat(this.#decide(there, policy, subject, cost));
    if (operation === 'force') {
      const paid = there.force(subject, argv.slice(words).map(Number)) as number;
      this.paidBack += paid;
      return paid;
    }
    if (operation === 'refund') {
      const decisionId = (keys.at(-1) as string).split(':refund:')[1] ?? '';
      const isPart = argv.at(-1) === '';
      return there.refund({ subject, decisionId, atUs: Number(argv[2]), amount: cost, isPart });
    }
    const reply = there.act({ kind: 'take', subject, cost, id: argv.at(-1) ?? '' }) as ActionReply;
    return [reply.atUs, reply.word, ...reply.numbers];
  }

  /** Each entry has keys of its own, or all have those of one subject. */
  #decideAll(there: Memory, keys: readonly string[], costs: readonly number[]): unknown {
    const step = keys.length > this.#limits.length ? this.#limits.length : 0;
    const reply: number[] = [this.#atUs];
    this.busyUs += (costs.length - 1) * (step === 0 ? this.#costs.sameUs : this.#costs.furtherUs);
    costs.forEach((cost, i) => {
      const { policy, subject } = namesIn(keys[i * step] as string);
      reply.push(...this.#decide(there, policy, subject, cost).numbers);
    });
    return reply;
  }

  #decide(there: Memory, policy: string, subject: string, cost: number): StoreReply {
    this.decided++;
    const reply = there.consume(subject, cost) as StoreReply;
    const isAdmitted = reply.numbers.every((number, i) => i % 4 !== 1 || number === 0);
    if (isAdmitted) this.#onAdmitted?.(policy, subject, reply.atUs);
    return reply;
  }

  #beat(keys: readonly string[], from: string): unknown {
    const policies = keys.map((key) => key.slice(key.lastIndexOf(':') + 1));
    const parts = this.#memory.beat?.(from, policies) as readonly { processes: number; rank: number }[];
    return parts.flatMap(({ processes, rank }) => [processes, rank]);
  }

  /** Counts of one policy are kept together, whatever limits they are asked for with. */
  #policy(policy: string, args: readonly string[]): Memory {
    const id = `${policy} ${args.join()}`;
    const known = this.#policies.get(id);
    if (known !== undefined) return known;
    let from = 0;
    const limits = this.#limits.map((limit) => {
      const own = args.slice(from, from + limit.algorithm.args.length).map(Number);
      from += own.length;
      return { ...limit, args: own };
    });
    const plan: Plan = { policy, limits };
    const there = this.#memory.bind(plan) as Memory;
    this.#policies.set(id, there);
    return there;
  }
}

/** `cmp1:{SUBJECT}:POLICY:...`, of subjects that need no escape. */
function namesIn(key: string): { readonly policy: string; readonly subject: string } {
  const [from, to] = [key.indexOf('{') + 1, key.indexOf('}')];
  return { subject: key.slice(from, to), policy: key.slice(to + 2, key.indexOf(':', to + 2)) };
}

const flat = ({ atUs, numbers }: StoreReply): number[] => [atUs, ...numbers];
