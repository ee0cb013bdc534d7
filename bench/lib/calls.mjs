// Loads on a limiter in this process, and what they cost.

/** Keeps so many calls going for a while: calls a second, and processor time of this process a call. */
export async function keepGoing(call, inFlight, forMs) {
  let calls = 0;
  const cpu = process.cpuUsage();
  const start = performance.now();
  const worker = async () => {
    while (performance.now() - start < forMs) {
      await call();
      calls++;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  const { user, system } = process.cpuUsage(cpu);
  return { calls, perSecond: calls / ((performance.now() - start) / 1000), cpuUs: (user + system) / calls };
}

/**
 * Calls so often, evenly to the millisecond, however long answers take: what was answered, how long each took in µs,
 * sorted, and how many had no answer at once.
 */
export async function keepPace(call, perSecond, forMs) {
  const [answers, tookUs, start] = [[], [], performance.now()];
  let waited = 0;
  const settled = (answer, sinceMs) => {
    answers.push(answer);
    tookUs.push((performance.now() - sinceMs) * 1000);
  };
  const waiting = [];
  for (let [passedMs, calls] = [0, 0]; passedMs < forMs; passedMs = performance.now() - start) {
    for (; calls < (passedMs / 1000) * perSecond; calls++) {
      const sinceMs = performance.now();
      const answer = call();
      if (!(answer instanceof Promise)) settled(answer, sinceMs);
      else {
        waited++;
        waiting.push(answer.then((later) => settled(later, sinceMs)));
      }
    }
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await Promise.all(waiting);
  return { answers, tookUs: tookUs.sort((a, b) => a - b), waited };
}

/** Scripts that a server ran since it was asked last. */
export async function scriptsRun(ioredis) {
  const stats = await ioredis.info('commandstats');
  await ioredis.config('RESETSTAT');
  return Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1] ?? 0);
}

/** As {@link keepPace}: scripts run for each decision, and how many decisions were for it. */
export async function paced(ioredis, call, perSecond, forMs) {
  await scriptsRun(ioredis);
  const { answers, ...figures } = await keepPace(call, perSecond, forMs);
  const admitted = answers.filter(({ allowed }) => allowed).length;
  return { ...figures, calls: (await scriptsRun(ioredis)) / answers.length, asked: answers.length, admitted };
}
