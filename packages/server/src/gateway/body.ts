import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';

/**
 * A request's body on its way to the upstream. It stands between the two because the HTTP client
 * destroys the body that it is given when the upstream fails, and the client's connection must
 * survive that to get its answer. Counts bytes, reports progress, keeps back-pressure.
 */
export class RequestBody extends Readable {
  readonly #request: IncomingMessage;
  readonly #maxBytes: number;
  readonly #onProgress: () => void;
  #bytes = 0;
  #isAttached = false;
  /** More came than is allowed; the body was cut. */
  isTooLarge = false;

  constructor(request: IncomingMessage, maxBytes: number, onProgress: () => void) {
    super({ highWaterMark: 65_536 });
    this.#request = request;
    this.#maxBytes = maxBytes;
    this.#onProgress = onProgress;
    this.on('error', () => undefined);
  }

  override _read(): void {
    if (!this.#isAttached) {
      this.#isAttached = true;
      this.#request
        .on('data', this.#onData)
        .on('end', this.#onEnd)
        .on('close', this.#onClose)
        .on('error', this.#onClose);
    }
    this.#request.resume();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#request.off('data', this.#onData).off('end', this.#onEnd).off('close', this.#onClose);
    done(error);
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#bytes += chunk.length;
    if (this.#bytes > this.#maxBytes) {
      this.isTooLarge = true;
      this.destroy(new Error('request body too large'));
      return;
    }
    this.#onProgress();
    if (!this.push(chunk)) this.#request.pause();
  };

  readonly #onEnd = (): void => {
    this.push(null);
  };

  readonly #onClose = (): void => {
    if (!this.#request.readableEnded) this.destroy(new Error('the client went away'));
  };
}
