import { within } from '../time.js';
import type { ToPrimary } from './messages.js';

/** What may wait to be read by a first process that does not read. */
const WAITING_MAX_CHARS = 8_000_000;
const MESSAGE_CHARS = 256;
const FLUSH_MS = 1000;

/** Sends to the first process, in bounded memory. */
export class Uplink {
  #waiting = 0;
  #onEmpty: () => void = () => undefined;

  /** False when it was not sent: the first process is gone, or has not read for long. */
  send(message: ToPrimary, chars = 0): boolean {
    if (process.send === undefined || !process.connected || this.#waiting > WAITING_MAX_CHARS) return false;
    const size = chars + MESSAGE_CHARS;
    this.#waiting += size;
    process.send(message, undefined, undefined, () => {
      this.#waiting -= size;
      if (this.#waiting === 0) this.#onEmpty();
    });
    return true;
  }

  /** Resolves when all was sent, or after a moment. */
  async flushed(): Promise<void> {
    if (this.#waiting === 0) return;
    const empty = new Promise<void>((resolve) => {
      this.#onEmpty = resolve;
    });
    await within(FLUSH_MS, empty, 'nobody reads').catch(() => undefined);
  }
}
