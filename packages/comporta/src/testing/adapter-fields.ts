import { slidingWindow } from '../algorithms/limits.js';
import type { HeaderForm } from '../http/headers.js';
import { memoryStore } from '../stores/memory.js';
import { type AdapterCase, type App, POLICY, withApp } from './adapter-app.js';
import { assertSame } from './assertion.js';
import { FakeClock } from './fake-clock.js';

const START_S = 1_767_225_600;
const WINDOW_S = 10;
const limits = slidingWindow({ limit: 2, window: `${WINDOW_S}s` });

/** A store in which no time passes, so that every figure is known. */
const still = () => memoryStore({ clock: new FakeClock(START_S * 1_000_000) });

/** What the fields of each form say while `left` of the limit are left. */
const FORMS: Readonly<Record<HeaderForm, (left: number) => Readonly<Record<string, string>>>> = {
  'draft-11': (left) => ({
    'ratelimit-policy': `"${POLICY}";q=2;w=${WINDOW_S}`,
    ratelimit: `"${POLICY}";r=${left};t=${WINDOW_S}`,
  }),
  'draft-7': (left) => ({
    'ratelimit-policy': `2;w=${WINDOW_S}`,
    ratelimit: `limit=2, remaining=${left}, reset=${WINDOW_S}`,
  }),
  'draft-6': (left) => ({
    'ratelimit-policy': `2;w=${WINDOW_S}`,
    'ratelimit-limit': '2',
    'ratelimit-remaining': `${left}`,
    'ratelimit-reset': `${WINDOW_S}`,
  }),
  legacy: (left) => ({
    'x-ratelimit-limit': '2',
    'x-ratelimit-remaining': `${left}`,
    'x-ratelimit-reset': `${START_S + WINDOW_S}`,
  }),
  none: () => ({}),
};

const fieldsOf = (headers: Headers): Record<string, string> =>
  Object.fromEntries([...headers].filter(([name]) => name.includes('ratelimit') || name === 'retry-after'));

async function fieldsAfter(app: App): Promise<readonly Record<string, string>[]> {
  return [
    fieldsOf((await app.ask()).headers),
    fieldsOf((await app.ask()).headers),
    fieldsOf((await app.ask()).headers),
  ];
}

const forms = Object.keys(FORMS) as HeaderForm[];

/** The header fields, in each of their forms. */
export const fieldChecks: readonly AdapterCase[] = [
  ...forms.map((form) => ({
    name: `with headers: ${form} responses and refusals have the fields of that form and no others`,
    run: (start: Parameters<AdapterCase['run']>[0]) =>
      withApp(start, { limits, store: still(), headers: form }, async (app) => {
        const refused = { ...FORMS[form](0), 'retry-after': `${WINDOW_S}` };
        assertSame(await fieldsAfter(app), [FORMS[form](1), FORMS[form](0), refused]);
      }),
  })),
  {
    name: 'with two forms of headers responses have the fields of both',
    run: (start) =>
      withApp(start, { limits, store: still(), headers: ['draft-11', 'legacy'] }, async (app) => {
        const { headers } = await app.ask();
        assertSame(fieldsOf(headers), { ...FORMS['draft-11'](1), ...FORMS.legacy(1) });
      }),
  },
];
