import { ComportaError, isComportaError } from '../core/errors.js';
import { messageOf } from '../identity/subject.js';
import type { Outcome } from '../policies/policy.js';
import type { Report } from './report.js';

/** Something to do when a request has ended. May return a promise. */
export type Task = (outcome: Outcome) => unknown;

/** What is still being done for requests that have ended or were refused. */
export class Finishing {
  readonly #report: Report;
  readonly #running: Set<Promise<void>> = new Set();

  constructor(report: Report) {
    this.#report = report;
  }

  /** Does all tasks at the first call and nothing at later ones; never throws. */
  once(tasks: readonly Task[]): (outcome: Outcome) => void {
    let isDone = false;
    return (outcome) => {
      if (isDone) return;
      isDone = true;
      for (const task of tasks) this.#run(task, outcome);
    };
  }

  /** Counts work among what is being done. */
  add(work: Promise<unknown>): void {
    const running: Promise<void> = work.then(
      () => void this.#running.delete(running),
      (error) => {
        this.#running.delete(running);
        this.#fault(error);
      },
    );
    this.#running.add(running);
  }

  /** Resolves when what is being done now is done; never rejects. */
  async settled(): Promise<void> {
    await Promise.all(this.#running);
  }

  #run(task: Task, outcome: Outcome): void {
    try {
      const done = task(outcome);
      if (done instanceof Promise) this.add(done);
    } catch (error) {
      this.#fault(error);
    }
  }

  /** A limiter that was closed meanwhile has nothing to change any more. */
  #fault(error: unknown): void {
    if (isComportaError(error) && error.code === 'ERR_CLOSED') return;
    const message = `request: could not be settled after its response: ${messageOf(error)}`;
    this.#report(new ComportaError('ERR_OPTION', message));
  }
}
