// Random, mutated and well-formed but odd requests to ShouldRateLimit, over bare HTTP/2.
import { connect } from 'node:http2';
import { frameOf } from '../../bench/lib/rls-load.mjs';
import { BAD_UTF8, bytesOf, mutated, ODD_NAMES, pick } from './random.mjs';

const PATH = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit';
const BATCH = 200;
/** OK, INVALID_ARGUMENT and RESOURCE_EXHAUSTED; where the frame itself is wrong also what the gRPC library says. */
const ALLOWED = { body: ['0', '3', '8'], frame: ['0', '3', '4', '8', '12', '13', undefined] };
/** Whoever promises more than it sends may wait for ever. */
const PATIENCE_MS = { body: 40_000, frame: 300, aborted: 300 };
/** The largest message that is taken. */
const MESSAGE_MAX_BYTES = 4 * 1024 * 1024;

function varint(value) {
  const bytes = [];
  let rest = BigInt(value);
  for (; rest >= 128n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  return Buffer.from([...bytes, Number(rest)]);
}

const tag = (field, wire) => varint((field << 3) | wire);
const nested = (field, bytes) => Buffer.concat([tag(field, 2), varint(bytes.length), bytes]);
const number = (field, value) => Buffer.concat([tag(field, 0), value]);

/** Varints at the ends of their ranges, longer than need be, and longer than any may be. */
function oddVarint(random) {
  const kind = random(6);
  if (kind === 0) return Buffer.concat([Buffer.alloc(1 + random(12), 0x80), Buffer.from([random(2)])]);
  if (kind === 1) return Buffer.alloc(10 + random(30), 0xff);
  return varint(
    pick(random, [0, 1, 2, 7, 8, 127, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2n ** 53n, 2n ** 63n, 2n ** 64n - 1n]),
  );
}

function oddText(random) {
  const kind = random(6);
  if (kind === 0) return pick(random, BAD_UTF8);
  if (kind === 1) return Buffer.from(pick(random, ODD_NAMES));
  if (kind === 2) return bytesOf(random, 40);
  if (kind === 3) return Buffer.from(pick(random, ['a', 'a*', '*', 'free', 'shadow', 'shop', '_', 'user_']));
  return Buffer.from(pick(random, ['user', 'user', 'user', 'free', 'shadow']));
}

/** Fields that nobody knows, groups in groups among them. */
function unknownField(random) {
  const field = pick(random, [5, 15, 16, 2047, 536_870_911]);
  const kind = random(6);
  if (kind === 0) return number(field, oddVarint(random));
  if (kind === 1) return Buffer.concat([tag(field, 5), bytesOf(random, 6)]);
  if (kind === 2) return Buffer.concat([tag(field, 1), bytesOf(random, 10)]);
  if (kind === 3) {
    const deep = pick(random, [1, 50, 10_000, 500_000]);
    return Buffer.concat([Buffer.alloc(deep, 0x2b), Buffer.alloc(random(2) === 0 ? deep : 0, 0x2c)]);
  }
  if (kind === 4) return Buffer.concat([tag(field, 2), oddVarint(random)]);
  return nested(field, bytesOf(random, 60));
}

const sometimes = (random, most, make) => Array.from({ length: random(most) }, () => make(random));

const entry = (random) =>
  nested(1, Buffer.concat([nested(1, oddText(random)), ...sometimes(random, 3, () => nested(2, oddText(random)))]));

const override = (random) =>
  nested(
    2,
    Buffer.concat([number(1, oddVarint(random)), number(2, pick(random, [varint(random(9)), oddVarint(random)]))]),
  );

const wrappedNumber = (random) => nested(3, random(5) === 0 ? Buffer.alloc(0) : number(1, oddVarint(random)));

function descriptor(random) {
  const parts = [
    ...sometimes(random, 4, entry),
    ...(random(3) === 0 ? [override(random)] : []),
    ...(random(3) === 0 ? [wrappedNumber(random)] : []),
    ...(random(6) === 0 ? [number(4, oddVarint(random))] : []),
    ...(random(8) === 0 ? [unknownField(random)] : []),
  ];
  return nested(2, Buffer.concat(parts));
}

/** A message by the rules of protobuf, with odd values, doubled fields and fields that nobody knows. */
function wellFormed(random) {
  const parts = [
    nested(1, random(4) === 0 ? oddText(random) : Buffer.from('shop')),
    ...sometimes(random, 6, descriptor),
    ...(random(4) === 0 ? [number(3, oddVarint(random))] : []),
    ...(random(4) === 0 ? [unknownField(random)] : []),
  ];
  return Buffer.concat(random(2) === 0 ? parts : parts.reverse());
}

/** As large as may be, or a little larger: in one value, in many descriptors, in many entries. */
function large(random) {
  const kind = random(4);
  const one = Buffer.concat([nested(1, Buffer.from('user')), nested(2, Buffer.from('a'))]);
  if (kind === 0) return frameOf('shop', []).subarray(5);
  if (kind === 1) {
    const value = Buffer.alloc(pick(random, [1_000_000, MESSAGE_MAX_BYTES - 100, MESSAGE_MAX_BYTES + 100]), 'x');
    return Buffer.concat([
      nested(1, Buffer.from('shop')),
      nested(2, nested(1, Buffer.concat([nested(1, Buffer.from('user')), nested(2, value)]))),
    ]);
  }
  const times = pick(random, [999, 1000, 1001, 9999, 10_000, 10_001, 200_000]);
  const many = kind === 2 ? nested(2, Buffer.alloc(0)) : nested(1, one);
  const all = Buffer.concat(Array.from({ length: times }, () => many));
  return Buffer.concat([nested(1, Buffer.from('shop')), kind === 2 ? all : nested(2, all)]);
}

function bodyOf(random) {
  const kind = random(40);
  if (kind === 0) return large(random);
  if (kind < 10) return bytesOf(random, 300);
  if (kind < 25) return wellFormed(random);
  return mutated(random, random(2) === 0 ? wellFormed(random) : frameOf('shop', [['user', 'a']]).subarray(5));
}

function framed(body) {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(body.length, 1);
  return Buffer.concat([head, body]);
}

const HEADERS = [
  {},
  { 'grpc-timeout': '50m' },
  { 'grpc-timeout': 'soon' },
  { 'grpc-encoding': 'gzip' },
  { 'content-type': 'text/plain' },
  { 'grpc-timeout': '' },
];

function callOf(random) {
  const bytes = framed(bodyOf(random));
  const pieces = random(10) === 0 ? 1 + random(40) : 1;
  // Given up before the end, as by a client that goes away.
  if (random(20) === 0) return { kind: 'aborted', bytes, headers: {}, pieces, end: random(bytes.length) };
  if (random(6) > 0) return { kind: 'body', bytes, headers: {}, pieces };
  const kind = random(3);
  if (kind === 0) return { kind: 'frame', bytes: Buffer.concat([bytes, bytes]), headers: {}, pieces };
  bytes[random(5)] = random(256);
  return { kind: 'frame', bytes, headers: pick(random, HEADERS), pieces };
}

function send(session, { kind, bytes, headers, pieces, end }) {
  return new Promise((resolve) => {
    const fields = { ':method': 'POST', ':path': PATH, 'content-type': 'application/grpc', te: 'trailers' };
    const stream = session.request({ 'grpc-timeout': '40S', ...fields, ...headers });
    let status;
    const see = (seen) => {
      status = seen['grpc-status'] ?? status;
    };
    stream
      .on('response', see)
      .on('trailers', see)
      .on('error', () => undefined)
      .resume();
    stream.on('close', () => resolve(status));
    stream.setTimeout(PATIENCE_MS[kind], () => {
      stream.close(8);
      resolve(status);
    });
    if (end !== undefined) {
      stream.write(bytes.subarray(0, end));
      setImmediate(() => {
        stream.close(8);
        resolve();
      });
      return;
    }
    const size = Math.ceil(bytes.length / pieces);
    for (let at = 0; at < bytes.length; at += size) stream.write(bytes.subarray(at, at + size));
    stream.end();
  });
}

function open(port) {
  // A session of Node's refuses new streams while more than 10 MB wait to be written.
  const session = connect(`http://127.0.0.1:${port}`, { maxSessionMemory: 1000 });
  session.on('error', () => undefined);
  return session;
}

/** Sends a batch; says what is wrong then, and nothing when all is well. */
export async function grpcFault(random, { ports }) {
  const session = open(ports.envoy);
  const calls = Array.from({ length: BATCH }, () => callOf(random));
  const statuses = await Promise.all(calls.map((call) => send(session, call)));
  session.destroy();
  const wrong = calls.findIndex(({ kind }, i) => kind !== 'aborted' && !ALLOWED[kind].includes(statuses[i]));
  if (wrong >= 0) return `status ${statuses[wrong]} for ${calls[wrong].bytes.toString('hex').slice(0, 2000)}`;
  const probe = open(ports.envoy);
  const sound = await send(probe, {
    kind: 'body',
    bytes: frameOf('shop', [['user', 'sound']]),
    headers: {},
    pieces: 1,
  });
  probe.destroy();
  return sound === '0' ? undefined : `a sound request got status ${sound}`;
}

export const GRPC_BATCH = BATCH;
