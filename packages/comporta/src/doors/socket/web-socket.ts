import { show } from '../../core/errors.js';
import { type NodeRequest, NodeView } from '../../http/node-view.js';
import type { MessageGate } from '../messages/message-gate.js';

/** What is used of a WebSocket of `ws`. */
export interface WsSocket {
  readonly bufferedAmount: number;
  readonly isPaused: boolean;
  emit(name: string, ...args: readonly unknown[]): boolean;
  send(data: string | Uint8Array): void;
  close(code?: number, reason?: string): void;
  pause(): void;
  resume(): void;
}

/** A message of a WebSocket: what key, cost, allow and deny functions get as `view.request`. */
export interface WsMessage<Socket = WsSocket, Upgrade = NodeRequest> {
  readonly socket: Socket;
  /** The request that opened the connection. */
  readonly upgrade: Upgrade;
  readonly data: unknown;
  /** Length of the data. */
  readonly bytes: number;
  readonly isBinary: boolean;
}

/** Bytes that a client did not read yet, above which it is told of no more refusals. */
const UNREAD_MAX = 65_536;
const POLICY_VIOLATION = 1008;
const TRY_AGAIN_LATER = 1013;

/**
 * From now on only messages that the gate admits reach the socket's listeners, whoever added them. While a decision
 * is awaited nothing more is read, and `close` waits for the messages before it.
 */
export function interceptMessages<Socket extends WsSocket, Upgrade extends NodeRequest>(
  socket: Socket,
  upgrade: Upgrade,
  messages: MessageGate<WsMessage<Socket, Upgrade>>,
): void {
  const emit = socket.emit.bind(socket);
  const { method, url, headers, socket: connection } = upgrade;
  // A connection that has closed no longer knows whose it was.
  const raw: NodeRequest = { method, url, headers, socket: { remoteAddress: connection?.remoteAddress } };
  let isHeld = false;
  const intake = messages.connect(socket, {
    viewOf: (message) => new NodeView(raw, message, url, undefined),
    deliver: ({ data, isBinary }) => void emit('message', data, isBinary),
    tell: (said) => {
      if (typeof said !== 'string' && !isBytes(said))
        throw new TypeError(`expected a text or bytes, got ${show(said)}`);
      if (socket.bufferedAmount <= UNREAD_MAX) socket.send(said);
    },
    end: ({ status, message }) =>
      socket.close(status === 503 ? TRY_AGAIN_LATER : POLICY_VIOLATION, message.slice(0, REASON_MAX)),
    hold: (isBusy) => {
      if (isBusy && !socket.isPaused) {
        socket.pause();
        isHeld = true;
      } else if (!isBusy && isHeld) {
        isHeld = false;
        socket.resume();
      }
    },
  });
  if (intake === undefined) return;
  socket.emit = (name, ...args) => {
    if (name === 'message')
      intake.take({ socket, upgrade, data: args[0], bytes: lengthOf(args[0]), isBinary: args[1] === true });
    else if (name === 'close') intake.after(() => void emit(name, ...args));
    else return emit(name, ...args);
    return true;
  };
}

const isBytes = (said: object): said is Uint8Array => ArrayBuffer.isView(said) || said instanceof ArrayBuffer;

/** Of 123 bytes at most; our words are ASCII. */
const REASON_MAX = 123;

/** A Buffer, an ArrayBuffer or a list of Buffers, as the socket's `binaryType` says. */
function lengthOf(data: unknown): number {
  const parts = [data].flat() as readonly { readonly byteLength?: number }[];
  return parts.reduce((sum, { byteLength = 0 }) => sum + byteLength, 0);
}
