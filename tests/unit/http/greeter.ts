import {
  type Client,
  type ClientReadableStream,
  credentials,
  Metadata,
  makeGenericClientConstructor,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  ServerInterceptingCall,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceDefinition,
  type ServiceError,
  type StatusObject,
  type sendUnaryData,
  status,
} from '@grpc/grpc-js';
import { memoryStore, tokenBucket } from 'comporta';
import { type GrpcRequest, rateLimit } from 'comporta/grpc';
import type { RateLimitOptions } from 'comporta/http';
import { onTestFinished } from 'vitest';
import { ManualClock } from './stores.js';

const text = {
  serialize: (value: string) => Buffer.from(value),
  deserialize: (bytes: Buffer) => bytes.toString(),
};

function method(name: string, requestStream = false, responseStream = false) {
  return {
    path: `/test.Greeter/${name}`,
    requestStream,
    responseStream,
    requestSerialize: text.serialize,
    requestDeserialize: text.deserialize,
    responseSerialize: text.serialize,
    responseDeserialize: text.deserialize,
  };
}

const service = {
  hello: method('Hello'),
  other: method('Other'),
  wait: method('Wait'),
  ticks: method('Ticks', false, true),
  echo: method('Echo', true, true),
} satisfies ServiceDefinition;

const GreeterClient = makeGenericClientConstructor(service, 'Greeter');
type Unary = (
  request: string,
  metadata: Metadata,
  options: { readonly deadline?: number },
  callback: (error: ServiceError | null, value?: string) => void,
) => ServerSide;
interface ServerSide {
  cancel(): void;
  on(name: 'status', listener: (ended: StatusObject) => void): unknown;
}
export type Greeter = Client &
  Record<'hello' | 'other' | 'wait', Unary> & {
    ticks(request: string): ClientReadableStream<string>;
    echo(): ClientReadableStream<string> & { write(value: string): void; end(): void };
  };

const hello = ({ request }: ServerUnaryCall<string, string>, done: sendUnaryData<string>) =>
  request === 'fail' ? done({ code: status.NOT_FOUND, details: 'no such person' }) : done(null, `hello ${request}`);

/** How many calls wait for an answer that never comes. */
let waiting = 0;
export const waitingCalls = (): number => waiting;

const implementation = {
  hello,
  other: hello,
  /** Never answers. */
  wait: () => {
    waiting++;
  },
  ticks: (call: ServerWritableStream<string, string>) => {
    call.write('1');
    if (call.request === 'end') call.end();
  },
  echo: (call: ServerDuplexStream<string, string>) => {
    call.on('data', (value: string) => call.write(value)).on('end', () => call.end());
  },
};

export const bucket = (capacity: number) => tokenBucket({ capacity, refill: 1, every: '1500ms' });

/** A server behind a limiter, and a client of it. */
export async function connected(options: Partial<RateLimitOptions<GrpcRequest>>, address = '127.0.0.1:0') {
  const store = memoryStore({ clock: new ManualClock() });
  const policy = 'policies' in options ? {} : { name: 'api', limits: bucket(2) };
  const limiter = rateLimit({ ...policy, store, ...options } as RateLimitOptions<GrpcRequest>);
  // One that only passes on stands before and one behind.
  const plain = (_: unknown, call: ConstructorParameters<typeof ServerInterceptingCall>[0]) =>
    new ServerInterceptingCall(call);
  const server = new Server({ interceptors: [plain, limiter, plain] });
  server.addService(service, implementation);
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(address, ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  const target = address.replace(/:0$/, `:${port}`);
  const client = new GreeterClient(target, credentials.createInsecure()) as unknown as Greeter;
  onTestFinished(async () => {
    client.close();
    server.forceShutdown();
    await limiter.close();
  });
  return client;
}

export interface Answer extends Pick<StatusObject, 'code' | 'details' | 'metadata'> {
  readonly value: string | undefined;
}

interface Asked {
  readonly name?: 'hello' | 'other' | 'wait';
  readonly request?: string;
  readonly fields?: Readonly<Record<string, string>>;
  readonly deadline?: number;
}

/** One call; resolves to how it ended. */
export function ask(
  client: Greeter,
  { name = 'hello', request = 'a', fields = {}, deadline }: Asked = {},
): Promise<Answer> {
  return new Promise((resolve) => {
    const metadata = new Metadata();
    for (const [key, value] of Object.entries(fields)) metadata.set(key, value);
    let value: string | undefined;
    client[name](request, metadata, deadline === undefined ? {} : { deadline }, (_, answer) => {
      value = answer;
    }).on('status', ({ code, details, metadata: trailers }) => {
      queueMicrotask(() => resolve({ code, details, metadata: trailers, value }));
    });
  });
}
