// Calls of ShouldRateLimit that are cheap for the process that makes them: frames over bare HTTP/2.
import { connect } from 'node:http2';

const PATH = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit';
const field = (number, bytes) => Buffer.concat([Buffer.from([(number << 3) | 2, bytes.length]), bytes]);

/** A request with one descriptor for each pair of key and value, framed for gRPC. */
export function frameOf(domain, pairs) {
  const descriptors = pairs.map(([key, value]) =>
    field(2, field(1, Buffer.concat([field(1, Buffer.from(key)), field(2, Buffer.from(value))]))),
  );
  const message = Buffer.concat([field(1, Buffer.from(domain)), ...descriptors]);
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

/**
 * Calls per second with so many in flight over so many connections, and how long they took in ms, sorted. `frame` gives
 * the bytes of each call; all must be answered with status 0.
 */
export async function loadRls(port, { connections, inFlight, seconds, frame, timeout }) {
  const sessions = Array.from({ length: connections }, () => connect(`http://127.0.0.1:${port}`));
  const headers = { ':method': 'POST', ':path': PATH, 'content-type': 'application/grpc', te: 'trailers' };
  if (timeout !== undefined) headers['grpc-timeout'] = timeout;
  const tookMs = [];
  const statuses = new Map();
  let isOver = false;
  const call = (session) => {
    const startMs = performance.now();
    const stream = session.request(headers);
    let status;
    const see = (fields) => {
      status = fields['grpc-status'] ?? status;
    };
    stream.on('response', see).on('trailers', see).resume();
    stream.on('error', () => undefined);
    stream.on('close', () => {
      if (isOver) return;
      tookMs.push(performance.now() - startMs);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      call(session);
    });
    stream.end(frame());
  };
  for (let i = 0; i < inFlight; i++) call(sessions[i % connections]);
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  isOver = true;
  for (const session of sessions) session.destroy();
  return { perSecond: tookMs.length / seconds, tookMs: tookMs.sort((a, b) => a - b), statuses };
}
