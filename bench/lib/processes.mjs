// Processor time of processes, as Linux tells it.
import { readdirSync, readFileSync } from 'node:fs';

/** Of the kernel's clock, in which it counts processor time. */
const TICKS_PER_SECOND = 100;

/** What follows the name in its line of /proc, from the state on; `undefined` when it has ended. */
function statOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1).split(' ');
  } catch {
    return undefined;
  }
}

/** Microseconds of user and system time of a process and of all that it has started and that still run. */
export function cpuUsOfTree(pid) {
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const stats = new Map(all.map((name) => [Number(name), statOf(name)]).filter(([, stat]) => stat !== undefined));
  const ticksOf = (each) => {
    const own = Number(stats.get(each)?.[11] ?? 0) + Number(stats.get(each)?.[12] ?? 0);
    const children = [...stats].filter(([, stat]) => Number(stat[1]) === each);
    return children.reduce((sum, [child]) => sum + ticksOf(child), own);
  };
  return (ticksOf(pid) / TICKS_PER_SECOND) * 1e6;
}

/** Seconds that all processors together were idle since the machine started. */
export function idleSeconds() {
  const [, , , , idle, wait] = readFileSync('/proc/stat', 'utf8').split(/\s+/);
  return (Number(idle) + Number(wait)) / TICKS_PER_SECOND;
}
