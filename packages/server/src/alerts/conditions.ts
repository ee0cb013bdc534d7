import { type Alert, type Fact, keyOf } from './alert.js';
import { RULES } from './rules.js';

/** One fact over time. It lives on after its end for as long as the cool-down needs it. */
interface Condition {
  fact: Fact;
  /** Whether the fact holds, as far as is known. */
  holds: boolean;
  /** Start of this episode: of the first time it held, short gaps left out. */
  startsAtMs: number;
  heardAtMs: number;
  endedAtMs: number;
  /** Whether this episode was told. */
  isTold: boolean;
  /** When an episode was last told. */
  toldAtMs: number;
  /** False between episodes, when only the cool-down is left. */
  isActive: boolean;
}

/**
 * Turns facts that come and go into alerts: nothing twice, nothing for a blip, no second telling within
 * the cool-down, and one *resolved* for each *firing*. Pure but for its own state: time is an argument.
 */
export class Conditions {
  readonly #conditions: Map<string, Condition> = new Map();
  cooldownMs: number;

  constructor(cooldownMs: number) {
    this.cooldownMs = cooldownMs;
  }

  /** The fact holds. True when that is news, and {@link Conditions.advance} should be called. */
  raise(fact: Fact, nowMs: number): boolean {
    const key = keyOf(fact.kind, fact.target);
    const known = this.#conditions.get(key);
    if (known?.holds === true) {
      known.heardAtMs = nowMs;
      return false;
    }
    const startsAtMs = known?.isActive === true ? known.startsAtMs : nowMs;
    const { isTold, toldAtMs } = known ?? { isTold: false, toldAtMs: Number.NEGATIVE_INFINITY };
    const times = { startsAtMs, heardAtMs: nowMs, endedAtMs: nowMs, toldAtMs };
    // What was told keeps its words: the same alert is still on.
    const told = isTold && known !== undefined ? known.fact : fact;
    this.#conditions.set(key, { fact: told, holds: true, isTold, isActive: true, ...times });
    return true;
  }

  /** The fact does not hold. True when that is news. */
  clear(key: string, nowMs: number): boolean {
    const known = this.#conditions.get(key);
    if (known?.holds !== true) return false;
    known.holds = false;
    known.endedAtMs = nowMs;
    return true;
  }

  /** What is to be told now. */
  advance(nowMs: number): readonly Alert[] {
    const alerts: Alert[] = [];
    for (const [key, condition] of this.#conditions) {
      if (condition.holds && nowMs - condition.heardAtMs >= staleMs(condition)) this.clear(key, nowMs);
      if (nowMs < this.#dueAtMs(condition)) continue;
      if (!condition.isActive) this.#conditions.delete(key);
      else if (condition.holds) alerts.push(this.#fire(key, condition, nowMs));
      else if (condition.isTold) alerts.push(toAlert(key, condition, 'resolved'));
      if (!condition.holds) this.#end(key, condition, nowMs);
    }
    return alerts;
  }

  /** When {@link Conditions.advance} has something to do; `undefined` when nothing is under way. */
  nextDueMs(): number | undefined {
    const times = [...this.#conditions.values()].map((condition) =>
      Math.min(
        this.#dueAtMs(condition),
        condition.holds ? condition.heardAtMs + staleMs(condition) : Number.POSITIVE_INFINITY,
      ),
    );
    const next = Math.min(...times);
    return Number.isFinite(next) ? next : undefined;
  }

  /** Facts that hold or have ended only just. */
  active(): readonly Fact[] {
    return [...this.#conditions.values()].filter(({ isActive }) => isActive).map(({ fact }) => fact);
  }

  /** Alerts that were told and are not resolved. */
  firing(): readonly Alert[] {
    const told = [...this.#conditions].filter(([, { isTold }]) => isTold);
    return told.map(([key, condition]) => toAlert(key, condition, 'firing'));
  }

  #dueAtMs({ fact, holds, startsAtMs, endedAtMs, isTold, toldAtMs, isActive }: Condition): number {
    const { graceMs, calmMs } = RULES[fact.kind];
    if (!isActive) return toldAtMs + this.cooldownMs;
    if (!holds) return endedAtMs + (isTold ? calmMs : graceMs);
    return isTold ? Number.POSITIVE_INFINITY : Math.max(startsAtMs + graceMs, toldAtMs + this.cooldownMs);
  }

  #fire(key: string, condition: Condition, nowMs: number): Alert {
    condition.isTold = true;
    condition.toldAtMs = nowMs;
    return toAlert(key, condition, 'firing');
  }

  #end(key: string, condition: Condition, nowMs: number): void {
    condition.isActive = false;
    condition.isTold = false;
    if (nowMs >= this.#dueAtMs(condition)) this.#conditions.delete(key);
  }
}

function staleMs({ fact }: Condition): number {
  return RULES[fact.kind].staleMs;
}

function toAlert(key: string, { fact, startsAtMs, endedAtMs }: Condition, status: Alert['status']): Alert {
  return { key, fact, status, startsAtMs, endsAtMs: status === 'resolved' ? endedAtMs : undefined };
}
