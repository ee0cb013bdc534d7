import type { Part } from '../../packages/comporta/src/algorithms/algorithm.js';
import type { Decision } from '../../packages/comporta/src/core/decision.js';
import { wire } from '../../packages/comporta/src/limiter/create.js';
import type { Limiter, LimiterOptions } from '../../packages/comporta/src/limiter/limiter.js';
import { limitsOf } from '../../packages/comporta/src/limiter/plan.js';
import { ALONE } from '../../packages/comporta/src/stores/presence.js';
import { openRedis } from '../../packages/comporta/src/stores/redis-store.js';
import type { Store } from '../../packages/comporta/src/stores/store.js';
import { type Chance, gapUs } from './chance.js';
import { SimulatedClient } from './client.js';
import type { EventLoop } from './event-loop.js';
import type { SimulatedServer } from './server.js';
import { type Place, Tally } from './tally.js';

export type Policy = Omit<LimiterOptions, 'store'>;

interface FleetSettings {
  readonly loop: EventLoop;
  readonly chance: Chance;
  readonly servers: readonly SimulatedServer[];
  readonly policies: readonly Policy[];
  readonly batch?: boolean;
}

/** A process: one store, and a limiter for each policy. */
export interface Member {
  readonly name: string;
  readonly store: Store;
  readonly limiters: readonly Limiter[];
}

/** `atUs`: when the units were used. What the store decides is used then, what a lease does when it is asked. */
type Listener = (decision: Decision, place: Place, atUs: number, policy: number, member: Member) => void;

/** All processes that share the servers, and what their decisions came to. */
export class Fleet {
  readonly members: Member[] = [];
  /** By policy, in their order. */
  tallies: Tally[];
  onDecision: Listener | undefined;
  /** Decisions that are not made yet. */
  pending = 0;
  readonly #settings: FleetSettings;
  #started = 0;

  constructor(settings: FleetSettings) {
    this.#settings = settings;
    this.tallies = settings.policies.map(() => new Tally());
  }

  resetTallies(): void {
    this.tallies = this.tallies.map(() => new Tally());
  }

  start(count: number): readonly Member[] {
    const started = Array.from({ length: count }, () => this.#startOne());
    this.members.push(...started);
    return started;
  }

  /** Ends those that were started last: what they hold is given back. */
  async stop(count: number): Promise<void> {
    const ended = this.members.splice(this.members.length - count, count);
    await Promise.all(ended.flatMap(({ limiters }) => limiters.map((limiter) => limiter.close())));
  }

  /** One of them, each as often as any other. */
  any(): Member {
    return this.members[Math.floor(this.#settings.chance() * this.members.length)] as Member;
  }

  /** So many decisions a second, each at a time of its own, until `seconds` have passed. */
  traffic(perSecond: number, seconds: number, ask: () => void): void {
    const { loop, chance } = this.#settings;
    const endUs = loop.nowUs() + seconds * 1e6;
    let nextUs = loop.nowUs();
    const arrive = (): void => {
      ask();
      plan();
    };
    const plan = (): void => {
      nextUs += gapUs(perSecond, chance);
      if (nextUs < endUs) loop.at(nextUs, arrive);
    };
    plan();
  }

  decide(member: Member, policy: number, subject: string): void {
    const { loop } = this.#settings;
    const tally = this.tallies[policy] as Tally;
    const atUs = loop.nowUs();
    const answer = (member.limiters[policy] as Limiter).decide(subject);
    const isAtOnce = !(answer instanceof Promise);
    const note = (decision: Decision): void => {
      const nowUs = loop.nowUs();
      const place = tally.note(decision, nowUs - atUs, isAtOnce);
      const isOfStore = place === 'store' && decision.atUs >= atUs;
      this.onDecision?.(decision, place, isOfStore ? decision.atUs : nowUs, policy, member);
    };
    if (isAtOnce) {
      note(answer);
      return;
    }
    this.pending++;
    void answer.then((decision) => {
      this.pending--;
      note(decision);
    });
  }

  #startOne(): Member {
    const { loop, chance, servers, policies, batch = true } = this.#settings;
    const name = `process${this.#started++}`;
    const client = new SimulatedClient(servers, name, { loop, chance });
    const opened = openRedis(client, { clock: loop, batch, onWarning: () => undefined }, () => client.close());
    const store: Store = { ...opened, owner: {} };
    return { name, store, limiters: policies.map((policy) => wire({ ...policy, store }, loop)) };
  }
}

/** What a process knows of the number of those that use its first policy. */
export function partOf({ store, limiters }: Member): Part {
  const [limiter] = limiters;
  if (limiter === undefined) throw new RangeError('a process without a limiter');
  const { policy } = limiter;
  return store.bind({ policy, limits: limitsOf(limiter.limits, 'limits') }).part?.() ?? ALONE;
}
