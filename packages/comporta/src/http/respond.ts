import { applyFields, type FieldTarget } from './apply.js';
import type { Verdict } from './gate.js';

/** A framework's response, as far as a verdict needs it. */
export interface Responder extends FieldTarget {
  /** False once somebody sent or ended the response, or the client is gone. */
  isOpen(): boolean;
  send(status: number, body: string): void;
}

/** Writes a verdict and returns whether the request may go on. Never throws: what cannot be written is left. */
export function respond(verdict: Verdict, response: Responder): boolean {
  try {
    if (response.isOpen()) {
      applyFields(verdict, response);
      if (!verdict.allowed) response.send(verdict.status, verdict.body);
    }
  } catch {
    // The response went away under our hands; the verdict stands.
  }
  return verdict.allowed;
}
