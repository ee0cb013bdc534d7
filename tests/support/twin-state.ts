import type { Limit } from 'comporta';
import type { ChainableCommander } from 'ioredis';

/** Replies of a pipeline that were not read yet; a reader takes its own from the front. */
export type Replies = [Error | null, unknown][];
/** Numbers in the order in which Lua packs them, or undefined where nothing is stored. */
export type StateReader = (replies: Replies) => (number | string)[] | undefined;

function next(replies: Replies): unknown {
  const [error, reply] = replies.shift() ?? [new Error('no reply is left'), undefined];
  if (error !== null) throw error;
  return reply;
}

/** Asks for the members of what is reserved. */
export function askNotes(pipeline: ChainableCommander, key: string): (replies: Replies) => readonly string[] {
  pipeline.zrange(key, '0', '-1');
  return (replies) => next(replies) as string[];
}

/** Asks for what is stored of a limit, at the end of the pipeline that changes it: that saves round trips. */
export function askState(pipeline: ChainableCommander, key: string, { algorithm: { tag } }: Limit): StateReader {
  if (tag === 'cc') {
    pipeline.zrange(key, '0', '-1', 'WITHSCORES');
    return (replies) => some((next(replies) as string[]).map((text, i) => (i % 2 === 1 ? Number(text) : text)));
  }
  if (tag === 'sw') {
    pipeline.type(key).lrangeBuffer(key, 0, -1).zrange(key, '0', '-1', 'WITHSCORES');
    return (replies) => {
      const isList = next(replies) === 'list';
      // Of a log in the other layout this is an error.
      const [, elements] = replies.shift() ?? [];
      if (!isList) return some(ofSortedSet(next(replies) as string[]));
      replies.shift();
      return ofList(elements as Buffer[]);
    };
  }
  pipeline.getBuffer(key);
  return (replies) => {
    const bytes = next(replies) as Buffer | null;
    return bytes === null ? undefined : Array.from({ length: bytes.length / 8 }, (_, i) => bytes.readDoubleLE(i * 8));
  };
}

const some = <T>(list: T[]): T[] | undefined => (list.length === 0 ? undefined : list);

function ofList(elements: readonly Buffer[]): number[] {
  return elements.flatMap((bytes) => {
    const cost = bytes.length === 12 ? 1 : bytes.readUInt32LE(12);
    return [bytes.readDoubleLE(0), bytes.readUInt32LE(8), cost];
  });
}

function ofSortedSet(flat: readonly string[]): number[] {
  const numbers: number[] = [];
  for (let i = 0; i < flat.length; i += 2) {
    const [total, cost = '1'] = (flat[i] as string).split(':');
    numbers.push(Number(flat[i + 1]), Number(total), Number(cost));
  }
  return numbers;
}
