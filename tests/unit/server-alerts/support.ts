import type { Alert, Fact } from '../../../packages/server/src/alerts/alert.js';
import type { Message } from '../../../packages/server/src/alerts/payloads/message.js';

export function factOf(more: Partial<Fact> = {}): Fact {
  const words = { severity: 'error', mode: 'local', cause: 'timeout', detail: 'no answer within 50 ms' } as const;
  return { kind: 'store.unavailable', target: 'per-client', ...words, ...more };
}

function alertOf(more: Partial<Alert> = {}): Alert {
  const fact = more.fact ?? factOf();
  const key = `${fact.kind}:${fact.target}`;
  return { key, fact, status: 'firing', startsAtMs: 1_700_000_000_000, endsAtMs: undefined, ...more };
}

export const resolved: Partial<Alert> = { status: 'resolved', endsAtMs: 1_700_000_060_000 };

export function messageOf(more: Partial<Alert> = {}, id: string = 'msg_1'): Message {
  return { id, alert: alertOf(more), instance: 'host-1:8080' };
}
