// One HTTP/1.1 exchange, byte for byte, on a connection of its own.
import { connect } from 'node:net';

const LIMIT_MS = 20_000;

/**
 * Writes pieces one after another, then waits for the end. `isAborted`: goes away after the last piece. Resolves to
 * everything that came back.
 */
export function exchange(port, pieces, { isAborted = false } = {}) {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    const chunks = [];
    const timer = setTimeout(() => {
      socket.destroy();
      reject(new Error(`no end within ${LIMIT_MS} ms`));
    }, LIMIT_MS);
    socket.setNoDelay(true);
    socket.on('data', (chunk) => chunks.push(chunk));
    // A refusal may come before all is written: what was read counts.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(answerIn(Buffer.concat(chunks)));
    });
    socket.on('connect', async () => {
      for (const piece of pieces) {
        if (socket.destroyed) return;
        socket.write(piece);
        if (pieces.length > 1) await new Promise(setImmediate);
      }
      if (isAborted) socket.destroy();
    });
  });
}

/** The last of the responses in it, for `100 Continue` may go before; `undefined` where there is none. */
function answerIn(bytes) {
  let rest = bytes;
  let answer;
  while (rest.length > 0) {
    const headEnd = rest.indexOf('\r\n\r\n');
    const head = headEnd < 0 ? '' : rest.subarray(0, headEnd).toString('latin1');
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1]);
    if (!(status >= 100))
      return { status: 0, type: '', body: rest.subarray(0, 200).toString('latin1'), isWhole: false };
    const { body, isWhole, size } = bodyIn(rest.subarray(headEnd + 4), head);
    answer = { status, type: /^content-type: (.*)$/im.exec(head)?.[1] ?? '', body: body.toString(), isWhole };
    rest = rest.subarray(headEnd + 4 + size);
  }
  return answer;
}

/** A body and the bytes that it took. */
function bodyIn(bytes, head) {
  if (!/^transfer-encoding: chunked$/im.test(head)) {
    const size = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0);
    const body = bytes.subarray(0, size);
    return { body, isWhole: body.length === size, size };
  }
  const parts = [];
  let at = 0;
  for (;;) {
    const end = bytes.indexOf('\r\n', at);
    const size = end < 0 ? Number.NaN : Number.parseInt(bytes.subarray(at, end).toString('latin1'), 16);
    if (!(at + size <= bytes.length)) return { body: Buffer.concat(parts), isWhole: false, size: bytes.length };
    parts.push(bytes.subarray(end + 2, end + 2 + size));
    at = end + 2 + size + 2;
    if (size === 0) return { body: Buffer.concat(parts), isWhole: true, size: at };
  }
}
