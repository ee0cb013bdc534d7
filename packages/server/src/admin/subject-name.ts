import { createHmac } from 'node:crypto';
import { hashKey } from '../hash-key.js';
import type { SubjectForm } from './schema.js';

const HASH_CHARS = 16;
const SHOWN_CHARS = 512;
/** Of this server: without it nobody can try all addresses. */
const key = hashKey('subjects');

/** A subject by a hash that stays the same while this process runs. */
export const hashOf = (subject: string): string =>
  `hash:${createHmac('sha256', key).update(subject).digest('hex').slice(0, HASH_CHARS)}`;

/** A subject as people are shown it. */
export function subjectName(subject: string, form: SubjectForm): string {
  if (form === 'hashed') return hashOf(subject);
  return subject.length <= SHOWN_CHARS ? subject : `${subject.slice(0, SHOWN_CHARS)}...`;
}
