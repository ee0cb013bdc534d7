// What callers wait for while Redis is frozen, and while it is gone, and how soon all is normal afterwards.
import { tagOf } from './lib/plan.mjs';
import { PLACES, pin } from './lib/processes.mjs';
import { faultFigures } from './lib/waits.mjs';

const POLICY = { limit: 10_000, windowMs: 1000, mode: 'fault', perSecond: 100 };
const BEFORE_MS = 500;
const AFTER_MS = 5000;

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const nowMs = () => performance.timeOrigin + performance.now();

async function oneFault({ children, subjects, faultMs }, tag, begin, end) {
  const ms = BEFORE_MS + faultMs + AFTER_MS;
  const running = [...children].map(async ([name, child]) => [
    name,
    await child.ask('paced', { name, ...POLICY, tag: `${tagOf(subjects, name)}${tag}`, ms }),
  ]);
  await pause(BEFORE_MS);
  const fromMs = nowMs();
  await begin();
  await pause(faultMs);
  await end();
  const toMs = nowMs();
  const recorded = await Promise.all(running);
  return Object.fromEntries(recorded.map(([name, records]) => [name, faultFigures(records, fromMs, toMs, nowMs())]));
}

/** All subjects at once, 100 decisions a second each. The bare socket never connects again, so it has no part here. */
export async function runFaults(options) {
  const [node] = options.servers.nodes;
  const takesPart = ({ by, modes }) => by !== 'reference' && modes === undefined;
  const shown = [...options.children].filter(([name]) => takesPart(options.subjects[name]));
  const own = { ...options, children: new Map(shown) };
  const frozen = await oneFault(
    own,
    'x',
    () => node.freeze(),
    () => node.thaw(),
  );
  const killed = await oneFault(
    own,
    'y',
    () => node.kill(),
    async () => {
      await node.start();
      pin(node.pid, PLACES.server);
    },
  );
  return { frozen, killed };
}
