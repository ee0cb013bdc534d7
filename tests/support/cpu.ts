/** Least processor time of a few runs, in milliseconds: what others do on the machine is not in it. */
export function cpuMsOf(work: () => unknown, times = 3): number {
  const taken = Array.from({ length: times }, () => {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  });
  return Math.min(...taken);
}
