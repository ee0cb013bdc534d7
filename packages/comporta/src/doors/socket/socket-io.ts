import { nextTurn } from '../../core/time.js';
import { NodeView } from '../../http/node-view.js';
import { wellFormed } from '../../http/well-formed.js';
import type { MessageGate } from '../messages/message-gate.js';

/** What is used of a socket of Socket.IO. */
export interface PacketSocket {
  readonly handshake: {
    readonly address: string;
    readonly url: string;
    readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  };
  readonly nsp: { readonly name: string };
  readonly conn: object;
  use(run: (packet: readonly unknown[], next: () => void) => void): unknown;
  emit(name: never, ...args: never): unknown;
  disconnect(close?: boolean): unknown;
}

/** An event that a client sent: what key, cost, allow and deny functions get as `view.request`. */
export interface SocketEvent<Socket = PacketSocket> {
  readonly socket: Socket;
  readonly event: string;
  /** Without the acknowledgement. */
  readonly args: readonly unknown[];
}

/** Packets that wait to be sent, above which a client is told of no more refusals. */
const UNSENT_MAX = 100;

interface Taken<Socket> extends SocketEvent<Socket> {
  readonly acknowledge: ((said: unknown) => void) | undefined;
  readonly next: () => void;
}

/** From now on only events that the gate admits reach the socket's listeners. */
export function interceptEvents<Socket extends PacketSocket>(
  socket: Socket,
  events: MessageGate<SocketEvent<Socket>>,
): void {
  const { address, headers, url } = socket.handshake;
  const raw = { method: 'POST', headers, socket: { remoteAddress: address } };
  const query = url.includes('?') ? url.slice(url.indexOf('?')) : '';
  const path = socket.nsp.name === '/' ? '' : socket.nsp.name;
  const intake = (events as MessageGate<Taken<Socket>>).connect(socket, {
    viewOf: (taken) =>
      new NodeView(raw, taken, `${path}/${encodeURIComponent(wellFormed(taken.event))}${query}`, undefined),
    deliver: ({ next }) => next(),
    tell: (said, { acknowledge }) => {
      if (isBehind(socket)) return;
      if (acknowledge !== undefined) acknowledge(said);
      else socket.emit('error' as never, ...([said] as never));
    },
    // Socket.IO hands events on in a later turn, and those that were admitted are still to arrive.
    end: () => void nextTurn().then(() => socket.disconnect(true)),
    hold: () => undefined,
  });
  if (intake === undefined) return;
  socket.use((packet, next) => {
    const [event, ...args] = packet;
    const last = args.at(-1);
    const acknowledge = typeof last === 'function' ? (last as (said: unknown) => void) : undefined;
    if (acknowledge !== undefined) args.pop();
    intake.take({ socket, event: String(event), args, acknowledge, next });
  });
}

function isBehind({ conn }: PacketSocket): boolean {
  const { writeBuffer } = conn as { readonly writeBuffer?: { readonly length: number } };
  return (writeBuffer?.length ?? 0) > UNSENT_MAX;
}
