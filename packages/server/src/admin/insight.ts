import type { Limiter } from 'comporta';
import type { Gate } from 'comporta/http';
import { Hotspots } from './hotspots.js';
import { Nodes } from './nodes.js';

/** What this process sees of subjects and of the store while it decides. */
export class Insight {
  readonly hotspots: Hotspots = new Hotspots();
  readonly nodes: Nodes = new Nodes();

  #stopGate: () => void = () => undefined;

  /** Listens to the policies of a new gate; those of the one before are forgotten. */
  renew({ limiters }: Pick<Gate, 'limiters'>): void {
    this.#stopGate();
    const stops = [...limiters.values()].map((limiter) => this.follow(limiter));
    this.#stopGate = () => {
      for (const stop of stops) stop();
    };
  }

  /** Listens to a limiter until what it answers is called. */
  follow(limiter: Limiter): () => void {
    const stops = [
      limiter.on('decision', (event) => this.hotspots.add(event)),
      limiter.on('breaker', (event) => this.nodes.changed(event)),
      limiter.on('degraded', (failure) => this.nodes.lost(failure)),
      limiter.on('recovered', (recovery) => this.nodes.found(recovery)),
    ];
    return () => {
      for (const stop of stops) stop();
      this.nodes.forget(limiter.policy);
    };
  }
}
