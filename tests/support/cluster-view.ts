import type { Server } from './servers.js';

/** What a node says of itself in CLUSTER NODES. */
export interface SelfView {
  readonly id: string;
  readonly role: 'primary' | 'replica';
  readonly epoch: number;
  /** Slot ranges, ends included. */
  readonly ranges: readonly (readonly [number, number])[];
}

export async function selfView(node: Server): Promise<SelfView> {
  const text = String(await node.command('CLUSTER', 'NODES'));
  const line = text.split('\n').find((entry) => entry.includes('myself'));
  const [id = '', , flags = '', , , , epoch = '0', , ...slots] = (line ?? '').split(' ');
  // Slots on the move are listed as [93->-id]: they still belong to the node of the plain ranges.
  const ranges = slots.filter((range) => !range.startsWith('[')).map(toRange);
  return { id, role: flags.includes('master') ? 'primary' : 'replica', epoch: Number(epoch), ranges };
}

function toRange(text: string): readonly [number, number] {
  const [from = '0', to = from] = text.split('-');
  return [Number(from), Number(to)];
}

export function ownsSlot(view: SelfView, slot: number): boolean {
  return view.role === 'primary' && view.ranges.some(([from, to]) => from <= slot && slot <= to);
}

/** The fields of CLUSTER INFO or INFO. */
export async function infoOf(node: Server, ...command: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const text = String(await node.command(...command));
  return new Map(text.split('\r\n').map((line) => line.split(':', 2) as [string, string]));
}
