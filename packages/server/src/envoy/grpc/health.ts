import { type ServerUnaryCall, type ServerWritableStream, type sendUnaryData, status } from '@grpc/grpc-js';

type Serving = 'SERVING' | 'NOT_SERVING' | 'SERVICE_UNKNOWN';

interface Request {
  readonly service: string;
}

interface Response {
  readonly status: Serving;
}

type Watcher = ServerWritableStream<Request, Response>;

/** `grpc.health.v1.Health` of services that all serve, or none of them. */
export class Health {
  readonly #names: ReadonlySet<string>;
  readonly #watchers: Set<Watcher> = new Set();
  #isServing = true;

  constructor(names: Iterable<string>) {
    this.#names = new Set(names);
  }

  /** Tells everybody who asks, and who watches, to send nothing more. */
  stopServing(): void {
    this.#isServing = false;
    for (const call of this.#watchers) call.write({ status: this.#of(call.request.service) });
  }

  /** Those who watch would keep their connections open for ever. */
  endWatches(): void {
    for (const call of this.#watchers) call.end();
    this.#watchers.clear();
  }

  /** The methods, by their names. */
  get methods(): {
    Check(call: ServerUnaryCall<Request, Response>, callback: sendUnaryData<Response>): void;
    Watch(call: Watcher): void;
    List(call: unknown, callback: sendUnaryData<{ readonly statuses: Readonly<Record<string, Response>> }>): void;
  } {
    return {
      Check: ({ request: { service } }, callback) => {
        if (this.#names.has(service)) callback(null, { status: this.#of(service) });
        else callback({ code: status.NOT_FOUND, details: 'no such service' });
      },
      Watch: (call) => {
        this.#watchers.add(call);
        call.on('close', () => this.#watchers.delete(call));
        call.on('cancelled', () => this.#watchers.delete(call));
        call.write({ status: this.#of(call.request.service) });
      },
      List: (_, callback) => {
        const statuses = [...this.#names].map((name) => [name, { status: this.#of(name) }]);
        callback(null, { statuses: Object.fromEntries(statuses) });
      },
    };
  }

  #of(name: string): Serving {
    if (!this.#names.has(name)) return 'SERVICE_UNKNOWN';
    return this.#isServing ? 'SERVING' : 'NOT_SERVING';
  }
}
