import type { AuditedOperation } from '../admin/audit.js';
import type { Findings } from '../alerts/rules.js';
import type { Address } from '../config/types.js';
import type { Door } from '../doors/door.js';
import type { Fields, Log } from '../log.js';
import type { Reloadable } from '../metrics/reload-metrics.js';
import type { Answered, Asked, Part, Question } from './team.js';

/** Where the doors listen. */
export type Addresses = Readonly<Partial<Record<Door['name'], Address>>>;

/** What the first process tells a worker. Texts are those of the configuration file. */
export type ToWorker =
  | { readonly kind: 'start'; readonly text: string; readonly part: Part }
  | { readonly kind: 'apply'; readonly id: number; readonly text: string }
  | { readonly kind: 'ask'; readonly id: number; readonly what: Question; readonly asked: Asked }
  | { readonly kind: 'answers'; readonly id: number; readonly answers: readonly Answered[] }
  | { readonly kind: 'stop' };

/** What a worker tells the first process. */
export type ToPrimary =
  | { readonly kind: 'hello' }
  | { readonly kind: 'ready'; readonly addresses: Addresses }
  | { readonly kind: 'failed'; readonly message: string }
  | Told;

/** The same of one that has started. */
export type Told =
  | { readonly kind: 'applied'; readonly id: number; readonly error: string | undefined }
  | { readonly kind: 'ask'; readonly id: number; readonly what: Question; readonly asked: Asked }
  | { readonly kind: 'answer'; readonly id: number; readonly answer: Answered | undefined }
  | { readonly kind: 'log'; readonly level: keyof Log; readonly message: string; readonly fields: Fields }
  | { readonly kind: 'lines'; readonly lines: string }
  | { readonly kind: 'alert'; readonly findings: Findings }
  | { readonly kind: 'audit'; readonly operation: AuditedOperation }
  | { readonly kind: 'reloaded'; readonly what: Reloadable; readonly isGood: boolean };
