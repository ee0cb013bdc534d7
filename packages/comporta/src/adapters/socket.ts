import type { IncomingMessage } from 'node:http';
import type { Socket } from 'socket.io';
import { MessageGate, type MessageOptions } from '../doors/messages/message-gate.js';
import { interceptEvents, type PacketSocket, type SocketEvent } from '../doors/socket/socket-io.js';
import { interceptMessages, type WsMessage, type WsSocket } from '../doors/socket/web-socket.js';
import type { Gate, NodeRequest, RateLimitRefusal } from '../http/index.js';

export type { SocketEvent } from '../doors/socket/socket-io.js';
export type { WsMessage } from '../doors/socket/web-socket.js';
export type { RateLimitOptions, RateLimitRefusal } from '../http/index.js';

/** As for every adapter, for the messages of WebSockets. */
export type WsOptions<Message> = MessageOptions<Message> & {
  /** What the sender of a refused message gets: JSON by default. */
  readonly reply?: (refusal: RateLimitRefusal, message: Message) => string | Uint8Array | undefined;
};

/** Limits the messages of one WebSocket; to be called when it opens. */
export interface WsLimiter<Client, Upgrade> {
  (socket: Client, upgrade: Upgrade): void;
  readonly gate: Gate<WsMessage<Client, Upgrade>>;
  close(): Promise<void>;
}

/** Limiter for `ws`: `sockets.on('connection', limitMessages({ limits: tokenBucket({ ... }) }))`. */
export function limitMessages<Client extends WsSocket = WsSocket, Upgrade extends NodeRequest = IncomingMessage>(
  options: WsOptions<WsMessage<Client, Upgrade>>,
): WsLimiter<Client, Upgrade> {
  const { reply = (refusal) => JSON.stringify(answerOf(refusal)), ...others } = options;
  const messages = new MessageGate(others as MessageOptions<WsMessage<Client, Upgrade>>, reply);
  const limit = (socket: Client, upgrade: Upgrade): void => interceptMessages(socket, upgrade, messages);
  return Object.assign(limit, { gate: messages.gate, close: () => messages.gate.close() });
}

/** As for every adapter, for the events of Socket.IO. */
export type SocketOptions<Event> = MessageOptions<Event> & {
  /** What the sender of a refused event gets, by its acknowledgement or as an event `error`. */
  readonly reply?: (refusal: RateLimitRefusal, event: Event) => unknown;
};

/** Middleware of a server or a namespace of Socket.IO. */
export interface EventLimiter<Client> {
  (socket: Client, next: () => void): void;
  readonly gate: Gate<SocketEvent<Client>>;
  close(): Promise<void>;
}

/** Limiter for Socket.IO: `io.use(rateLimit({ limits: tokenBucket({ ... }) }))`. */
export function rateLimit<Client extends PacketSocket = Socket>(
  options: SocketOptions<SocketEvent<Client>>,
): EventLimiter<Client> {
  const { reply = answerOf, ...others } = options;
  const events = new MessageGate(others as MessageOptions<SocketEvent<Client>>, reply);
  const limit = (socket: Client, next: () => void): void => {
    interceptEvents(socket, events);
    next();
  };
  return Object.assign(limit, { gate: events.gate, close: () => events.gate.close() });
}

function answerOf({ status, code, message, retryAfterMs }: RateLimitRefusal): object {
  return { error: { status, code, message, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) } };
}
