import { z } from 'zod';
import { type TlsFiles, tlsSchema } from '../api/tls.js';
import { address, secretText, text } from '../config/fields.js';
import type { Address } from '../config/types.js';

/** The `admin` section, as the file says it. */
export interface AdminConfig {
  readonly listen: Address;
  readonly tokens: readonly AdminToken[];
  readonly public: boolean;
  readonly tls?: TlsFiles | undefined;
  readonly auditSubjects: SubjectForm;
  readonly topSubjects: SubjectForm;
}

/** What its holder may do: look, or change something as well. */
export type Role = 'read' | 'operate';

export interface AdminToken {
  readonly token: string;
  readonly role: Role;
  /** Who is named in the audit log. */
  readonly name: string;
}

/** How subjects are named to people: as they are, or by a hash with a key that changes at each start. */
export type SubjectForm = 'plain' | 'hashed';

const TOKENS_MAX = 50;

const token = z.strictObject({
  token: secretText(
    (value) => /^[\x21-\x7e]{16,1024}$/.test(value),
    '16 to 1024 visible ASCII characters without spaces',
  ).describe('What the caller shows as bearer token.'),
  role: z.enum(['read', 'operate']).describe('`read` looks, `operate` changes something as well.'),
  name: text(/^[A-Za-z0-9_.@-]{1,64}$/, '1 to 64 characters of A-Z a-z 0-9 _ . @ -').describe(
    'Who holds it: the name in the audit log.',
  ),
});

const form: z.ZodType<SubjectForm> = z.enum(['plain', 'hashed']);

/** What depends on other fields is checked in `check.ts`. */
export const adminSchema: z.ZodType<AdminConfig> = z.strictObject({
  listen: address.describe('Address of the admin API, `host:port`. A restart applies changes.'),
  tokens: z.array(token).min(1).max(TOKENS_MAX).describe('Who may call: nobody without a token.'),
  public: z
    .boolean()
    .default(false)
    .describe('Listen beyond this machine without `tls`, where tokens travel as they are: put TLS in front.'),
  tls: tlsSchema
    .optional()
    .describe('Speak TLS. The files are read again when they change; a restart applies the rest.'),
  auditSubjects: form
    .default('hashed')
    .describe(
      'How the audit log names subjects: `hashed` with a key that changes at each start, or `plain`. They may be secrets, such as API keys.',
    ),
  topSubjects: form.default('plain').describe('How the hottest subjects are named, in the same two ways.'),
});
