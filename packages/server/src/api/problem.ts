import { STATUS_CODES } from 'node:http';
import type { Field } from 'comporta/http';
import { z } from 'zod';
import type { Words } from '../access-log/entry.js';

const PROBLEM_JSON = 'application/problem+json';

/** Every refusal of the API itself (RFC 9457). */
export const problemSchema: z.ZodType = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string().describe('What is wrong, for people.'),
    field: z.string().optional().describe('Path of the offending field, such as `checks[0].cost`.'),
  })
  .meta({ id: 'Problem' });

/** What is answered. */
export interface Answer {
  readonly status: number;
  readonly headers: readonly Field[];
  readonly body: string;
  /** What was decided, for the access log. */
  readonly words?: Words | undefined;
}

/** A request that is not answered as asked; its words repeat no secret. */
export class Refusal extends Error {
  override readonly name: string = 'Refusal';
  readonly status: number;
  readonly field: string | undefined;
  readonly headers: readonly Field[];

  constructor(
    status: number,
    detail: string,
    more: { readonly field?: string; readonly headers?: readonly Field[] } = {},
  ) {
    super(detail);
    this.status = status;
    this.field = more.field;
    this.headers = more.headers ?? [];
  }
}

/** What was sent comes back in the words, but not at length. */
const WORDS_MAX = 1000;

const short = (text: string): string => (text.length <= WORDS_MAX ? text : `${text.slice(0, WORDS_MAX)}...`);

export function problem({ status, message, field, headers }: Refusal): Answer {
  const detail = short(message);
  const title = STATUS_CODES[status] ?? '';
  const body = JSON.stringify({
    type: 'about:blank',
    title,
    status,
    detail,
    ...(field !== undefined && { field: short(field) }),
  });
  return { status, headers: [['content-type', PROBLEM_JSON], ['cache-control', 'no-store'], ...headers], body };
}

export function json(status: number, value: unknown): Answer {
  const headers: Field[] = [
    ['content-type', 'application/json'],
    ['cache-control', 'no-store'],
  ];
  return { status, headers, body: JSON.stringify(value) };
}
