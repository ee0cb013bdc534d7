import { slidingWindow } from '../algorithms/limits.js';
import { assertSame } from './assertion.js';
import { ask, limiterOn } from './store-limiters.js';
import type { StoreCheck } from './store-suite.js';

/** Texts that meet in stores that trim, join, decode or cut what they are given. All differ. */
export const hostileSubjects: readonly string[] = [
  'a',
  'A',
  ' a',
  'a ',
  'a\n',
  'a\0',
  '\0',
  '\n',
  '{a}',
  '{',
  '}',
  '{}a',
  'a:b',
  'a}:b',
  'a%3Ab',
  'a%u003Ab',
  '%',
  '%25',
  '%2525',
  '*',
  'a*',
  '\ud800',
  '\ud801',
  '\udc00',
  '\ud83d',
  '\ud83d\ude00',
  '\ufffd',
  'é',
  'e\u0301',
  '%hba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
  'x'.repeat(128),
  'x'.repeat(129),
  'x'.repeat(2 ** 20),
  `${'x'.repeat(2 ** 20 - 1)}y`,
  `${'x'.repeat(200)}\ud800`,
  `${'x'.repeat(200)}\ud801`,
];

const ALPHABET = [...'ab01:{}%/.-_ \0\n\t"\\é漢', '\ud83d\ude00', '\ud800', '\udfff'];
const RANDOM = 10_000;
const SEED = 20_261_130;

/** Different random texts, the same in every run. */
function randomSubjects(): string[] {
  let state = SEED;
  const next = (below: number): number => {
    // A step of mulberry32.
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
  const found = new Set<string>();
  while (found.size < RANDOM) {
    found.add(Array.from({ length: 1 + next(24) }, () => ALPHABET[next(ALPHABET.length)]).join(''));
  }
  return [...found];
}

/** With room for one, any two that met would show: the second would be refused. */
async function keptApart(
  subjects: readonly string[],
  decide: (subject: string) => Promise<boolean>,
): Promise<string[]> {
  const refused: string[] = [];
  for (let i = 0; i < subjects.length; i += 500) {
    const part = subjects.slice(i, i + 500);
    const answers = await Promise.all(part.map(decide));
    refused.push(...part.filter((_, at) => !answers[at]));
  }
  return refused.map((subject) => JSON.stringify(subject.slice(0, 40)));
}

/** What every store must do with subjects that somebody chose to confuse it. */
export const subjectChecks: readonly StoreCheck[] = [
  {
    name: 'hostile subjects are kept apart and found again',
    run: async (store) => {
      const limiter = limiterOn(store, 'hostile', slidingWindow({ limit: 1, window: '1h' }));
      const decide = async (subject: string) => (await ask(limiter, subject)).allowed;
      assertSame(await keptApart(hostileSubjects, decide), []);
      assertSame(
        (await keptApart(hostileSubjects, decide)).length,
        hostileSubjects.length,
        'the second time all are known',
      );
    },
  },
  {
    name: 'a subject that holds a separator never meets a policy or limit of that name',
    run: async (store) => {
      const limits = slidingWindow({ id: 'c', limit: 1, window: '1h' });
      const [one, other] = [limiterOn(store, 'b', limits), limiterOn(store, 'a.b', limits)];
      for (const [limiter, subject] of [
        [one, 'a'],
        [one, 'a:b'],
        [one, 'a}:b'],
        [other, 'a'],
        [other, 'a}:b:c'],
      ] as const) {
        assertSame((await ask(limiter, subject)).allowed, true, subject);
      }
    },
  },
  {
    name: `${RANDOM} random subjects are kept apart`,
    run: async (store) => {
      const limiter = limiterOn(store, 'random', slidingWindow({ limit: 1, window: '1h' }));
      const subjects = randomSubjects();
      assertSame(await keptApart(subjects, async (subject) => (await ask(limiter, subject)).allowed), []);
    },
  },
];
