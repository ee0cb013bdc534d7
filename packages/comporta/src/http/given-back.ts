import type { Decision, LimitState } from '../core/decision.js';
import type { Answer } from './headers.js';

/**
 * The answers as they are once a request is refused: what the policies that admitted it charged is given back, and
 * that is what the client is told.
 */
export function afterRefusal(answers: readonly Answer[]): readonly Answer[] {
  if (answers.length === 1 || answers.every(({ decision }) => decision.allowed)) return answers;
  return answers.map((answer) =>
    answer.decision.allowed ? { ...answer, decision: refunded(answer.decision) } : answer,
  );
}

function refunded(decision: Decision): Decision {
  const { cost, limits, binding } = decision;
  const states = limits.map((state): LimitState => {
    const remaining = Math.min(state.limit, state.remaining + cost);
    return remaining < state.limit ? { ...state, remaining } : { ...state, remaining, nextAfterMs: 0, resetAfterMs: 0 };
  });
  return { ...decision, limits: states, binding: states.find(({ id }) => id === binding?.id) };
}
