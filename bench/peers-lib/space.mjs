// Memory that a subject takes in Redis: all keys there are after decisions about many subjects.
import { tagOf, takesPart } from './lib/plan.mjs';
import { keyBytes } from './lib/servers.mjs';

/** Slow enough that nothing expires before it is counted. */
const POLICY = { limit: 100, windowMs: 3_600_000 };

async function bytesPerSubject(servers, child, asked) {
  await servers.nodes[0].command('FLUSHALL', 'SYNC');
  await child.ask('fill', { ...asked, mode: 'space' });
  return (await keyBytes(servers)) / asked.count;
}

/** Bytes after one decision about each subject, and after as many as its limit of 100 admits. */
export async function runSpace({ children, subjects, servers, filled }) {
  const results = {};
  for (const [name, child] of children) {
    if (subjects[name].by === 'reference' || !takesPart(subjects[name], 'single', 'uniform')) continue;
    const asked = { name, ...POLICY, tag: tagOf(subjects, name) };
    results[name] = {
      one: await bytesPerSubject(servers, child, { ...asked, count: filled.one, each: 1 }),
      full: await bytesPerSubject(servers, child, { ...asked, tag: `${asked.tag}f`, count: filled.full, each: 100 }),
    };
  }
  return results;
}
