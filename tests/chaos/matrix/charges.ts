import type { Stall } from '../../cluster/loop-watch.js';
import { stalledMs } from '../../cluster/loop-watch.js';
import type { SeenCommand } from '../../support/proxy.js';
import type { Server } from '../../support/servers.js';
import { type Call, LIMIT } from './call.js';

const KEY = /^cmp1:\{([^}]*)\}:([^:]*):.*:sw$/;

/**
 * Subjects that were charged more often in Redis than they were asked for. Others are of earlier cells: a server
 * that comes back brings them along.
 */
export async function overcharged(servers: readonly Server[], calls: readonly Call[]): Promise<string[]> {
  const hot = calls.find(({ isHot }) => isHot)?.subject;
  const asked = new Set(calls.map(({ subject }) => subject));
  const lists = await Promise.all(servers.map((server) => chargesAt(server)));
  return lists.flat().flatMap(([key, charges]) => {
    const subject = KEY.exec(key)?.[1] ?? '';
    const most = subject === hot ? LIMIT : 1;
    return asked.has(subject) && charges > most ? [`${key} has ${charges} charges, at most ${most}`] : [];
  });
}

async function chargesAt(server: Server): Promise<(readonly [string, number])[]> {
  const keys = (await server.command('KEYS', 'cmp1:*:sw')) as string[];
  return Promise.all(keys.map(async (key) => [key, Number(await server.command('LLEN', key))] as const));
}

/** How late a proxy, which reads in a busy process, may note a command. */
const NOTE_MS = 25;

export interface Sent {
  readonly repeated: string[];
  readonly late: string[];
}

/**
 * Commands that went out twice or after their decision was given. What `local` admitted is charged
 * afterwards on purpose, so the other modes are looked at.
 */
export function sentWrongly(calls: readonly Call[], seen: readonly SeenCommand[], stalls: readonly Stall[]): Sent {
  const commands = new Map<string, SeenCommand[]>();
  for (const command of seen) {
    if (!command.name.startsWith('EVAL')) continue;
    // One call decides for several subjects.
    for (const key of command.args.slice(2, 2 + Number(command.args[1]))) {
      const [, subject, mode] = KEY.exec(key) ?? [];
      if (subject === undefined) continue;
      const name = `${mode} ${subject}`;
      commands.set(name, [...(commands.get(name) ?? []), command]);
    }
  }
  const sent: Sent = { repeated: [], late: [] };
  for (const call of calls) {
    if (call.isHot || call.mode === 'local') continue;
    const name = `${call.mode} ${call.subject}`;
    const mine = commands.get(name) ?? [];
    if (mine.length > 1) sent.repeated.push(`${name}: sent ${mine.length} times`);
    const endUs = call.sentUs + call.tookMs * 1000;
    const slackUs = 1000 * (NOTE_MS + stalledMs(stalls, call.sentUs, endUs + 20_000));
    const lastUs = Math.max(0, ...mine.map(({ atNs }) => Number(atNs / 1000n)));
    if (lastUs > endUs + slackUs) sent.late.push(`${name}: sent ${((lastUs - endUs) / 1000).toFixed(0)} ms after`);
  }
  return sent;
}
