import type { BreakerEvent } from '../core/events.js';
import type { Instruments } from './instruments.js';
import type { Observer } from './meter.js';

type State = BreakerEvent['state'];

const LABELS: Readonly<Record<State, string>> = { closed: 'closed', halfOpen: 'half_open', open: 'open' };
const STATES: readonly State[] = ['closed', 'halfOpen', 'open'];

/** Nodes that are told apart: addresses of a cluster may change for ever. */
const NODES_MAX = 64;
const OTHERS = 'other';

/** Follows the breakers of the nodes. Several limiters tell the same change: it counts once. */
export class BreakerStates {
  readonly #transitions: Instruments['breakerTransitions'];
  /** For each node the state per time limit: a node may be too slow for one and do for another. */
  readonly #nodes: Map<string, Map<number, State>> = new Map();

  constructor({ breakerTransitions }: Instruments) {
    this.#transitions = breakerTransitions;
  }

  changed({ node, state, timeoutMs }: BreakerEvent): void {
    const states = this.#statesOf(node);
    const from = states.get(timeoutMs) ?? 'closed';
    states.set(timeoutMs, state);
    if (from === state) return;
    this.#transitions.add(1, { 'comporta.from': LABELS[from], 'comporta.to': LABELS[state] });
  }

  observe(observer: Observer): void {
    for (const [node, states] of this.#nodes) {
      const worst = worstOf(states);
      for (const state of STATES) {
        observer.observe(state === worst ? 1 : 0, { 'comporta.node': node, 'comporta.state': LABELS[state] });
      }
    }
  }

  #statesOf(node: string): Map<number, State> {
    const known = this.#nodes.get(node);
    if (known !== undefined) return known;
    if (this.#nodes.size >= NODES_MAX) this.#forgetClosed();
    if (this.#nodes.size >= NODES_MAX && node !== OTHERS) return this.#statesOf(OTHERS);
    const made = new Map<number, State>();
    this.#nodes.set(node, made);
    return made;
  }

  #forgetClosed(): void {
    for (const [node, states] of this.#nodes) {
      if (worstOf(states) !== 'closed') continue;
      this.#nodes.delete(node);
      return;
    }
  }
}

function worstOf(states: ReadonlyMap<number, State>): State {
  return STATES[Math.max(...[...states.values()].map((state) => STATES.indexOf(state)))] ?? 'closed';
}
