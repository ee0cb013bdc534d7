import { fixedWindow, memoryStore } from 'comporta';
import type { Outcome, RequestView, Verdict } from 'comporta/http';

/** Options of a limiter that tell whom they counted, where, and how each request ended. */
export function recorded(limit = 100) {
  const outcomes: Outcome[] = [];
  const subjects: (string | undefined)[] = [];
  const routes: (string | undefined)[] = [];
  const options = {
    name: 'p',
    limits: fixedWindow({ limit, window: '1d', align: 'first-hit' }),
    store: memoryStore(),
    count: ({ status, aborted }: Outcome) => {
      outcomes.push({ status, aborted });
      return 1;
    },
    onVerdict: ({ decisions }: Verdict, { route }: RequestView) => {
      subjects.push(decisions[0]?.subject);
      routes.push(route);
    },
  };
  return { options, outcomes, subjects, routes };
}
