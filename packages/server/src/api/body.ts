import type { IncomingMessage, ServerResponse } from 'node:http';
import { z } from 'zod';
import { describeIssue, valueAt } from '../config/issues.js';
import { fieldsIn, type JsonSchema } from '../config/known-fields.js';
import { nearest } from '../config/nearest.js';
import { formatPath, type Path } from '../config/problem.js';
import { hasKnownCoding, waitsForContinue } from '../gateway/target.js';
import { Refusal } from './problem.js';

/** The caller went away before its request was whole: there is nobody to answer. */
export class Gone extends Error {
  override readonly name: string = 'Gone';
}

/** The body as JSON that fits a schema; throws a {@link Refusal} that names what does not. */
export async function readJson(
  request: IncomingMessage,
  response: ServerResponse,
  schema: z.ZodType,
  maxBytes: number,
): Promise<unknown> {
  const { headers } = request;
  if (!/^application\/json\s*(;|$)/i.test(headers['content-type'] ?? '')) {
    throw new Refusal(415, 'Expected a body with content-type application/json.');
  }
  if (headers['content-encoding'] !== undefined) throw new Refusal(415, 'Expected a body without content-encoding.');
  if (!hasKnownCoding(request)) throw new Refusal(400, 'The only transfer coding that is taken is chunked.');
  if (Number(headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes);
  if (waitsForContinue(request)) response.writeContinue();
  return checked(schema, parsed(await readBytes(request, maxBytes)));
}

const tooLarge = (maxBytes: number): Refusal => new Refusal(413, `The body is larger than ${maxBytes} bytes.`);

/** Stops reading when it has seen enough; the rest is for whoever answers. */
function readBytes(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const stop = (settle: () => void): void => {
      request.off('data', take).off('end', end).off('close', gone).off('error', gone);
      settle();
    };
    const take = (chunk: Buffer): void => {
      size += chunk.length;
      chunks.push(chunk);
      if (size > maxBytes) stop(() => reject(tooLarge(maxBytes)));
    };
    const end = (): void => stop(() => resolve(Buffer.concat(chunks)));
    const gone = (): void => stop(() => reject(new Gone('the caller went away')));
    request.on('data', take).on('end', end).on('close', gone).on('error', gone);
  });
}

/** Brackets in brackets: far more than any body that is taken needs, far fewer than would exhaust a stack. */
const DEPTH_MAX = 64;

function parsed(bytes: Buffer): unknown {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    if (isTooDeep(text)) throw new Refusal(400, 'Expected fewer brackets in brackets.', { field: '' });
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw new Refusal(400, 'The body is not JSON in UTF-8.', { field: '' });
  }
}

function isTooDeep(text: string): boolean {
  let [depth, isText] = [0, false];
  for (let i = 0; i < text.length; i++) {
    const char = text[i];
    if (isText && char === '\\') i++;
    else if (char === '"') isText = !isText;
    else if (isText) continue;
    else if (char === '[' || char === '{') depth++;
    else if (char === ']' || char === '}') depth--;
    if (depth > DEPTH_MAX) return true;
  }
  return false;
}

function checked(schema: z.ZodType, value: unknown): unknown {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const { path, message } = faultOf(schema, result.error.issues, value);
  const field = formatPath(path);
  throw new Refusal(400, field === '' ? message : `${field}: ${message}`, { field });
}

type Issue = z.core.$ZodIssue;

/** A mistyped name makes others seem to be missing: it says more than they do. */
function faultOf(
  schema: z.ZodType,
  issues: readonly Issue[],
  value: unknown,
): { readonly path: Path; readonly message: string } {
  const found = issues.map((issue) => deepest(issue, value));
  const unknown = found.find(({ code }) => code === 'unrecognized_keys');
  if (unknown?.code === 'unrecognized_keys') {
    const [name = ''] = unknown.keys;
    const short = name.slice(0, NAME_SHOWN);
    const known = fieldsIn(writtenSchema(schema), unknown.path as Path);
    const guess = nearest(short, known);
    const hint = guess === undefined ? `; known here: ${known.join(', ')}` : `; did you mean "${guess}"?`;
    return { path: [...(unknown.path as Path), short], message: `unknown field${hint}` };
  }
  const issue = found[0] as Issue;
  const path = issue.path as Path;
  return { path, message: describeIssue(issue, shortened(valueAt(value, path))) };
}

const written: WeakMap<z.ZodType, JsonSchema> = new WeakMap();

/** Made once, at the first mistake. */
function writtenSchema(schema: z.ZodType): JsonSchema {
  const known = written.get(schema) ?? (z.toJSONSchema(schema, { io: 'input', reused: 'inline' }) as JsonSchema);
  written.set(schema, known);
  return known;
}

const NAME_SHOWN = 64;
const TEXT_SHOWN = 100;

const shortened = (value: unknown): unknown =>
  typeof value === 'string' && value.length > TEXT_SHOWN ? `${value.slice(0, TEXT_SHOWN)}...` : value;

/** A union's own message says nothing: keep what the branch of the value's form found. */
function deepest(issue: Issue, root: unknown): Issue {
  if (issue.code !== 'invalid_union') return issue;
  const given = valueAt(root, issue.path as Path);
  const branch = issue.errors[Array.isArray(given) ? issue.errors.length - 1 : 0]?.[0];
  return branch === undefined ? issue : deepest({ ...branch, path: [...issue.path, ...branch.path] } as Issue, root);
}
