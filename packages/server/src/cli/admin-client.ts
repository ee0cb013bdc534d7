import { readFileSync } from 'node:fs';
import { within } from '../time.js';
import { type Options, UsageError, type Values } from './command.js';

/** Options of every command that asks a running server. */
export const CLIENT_OPTIONS: Options = { url: { type: 'string' }, 'token-file': { type: 'string' } };

export const CLIENT_HELP = `  --url URL           admin API of the server (default http://127.0.0.1:8083)
  --token-file FILE   file with the token; else the variable COMPORTA_ADMIN_TOKEN`;

const URL_DEFAULT = 'http://127.0.0.1:8083';
const LIMIT_MS = 10_000;

/** The server was not reached, or did not do what it was asked. */
export class AdminError extends Error {
  override readonly name: string = 'AdminError';
}

/** Asks one admin API. */
export interface AdminClient {
  /** The answer to a GET, or to a POST where there is a body; rejects with an {@link AdminError}. */
  ask(path: string, body?: object): Promise<unknown>;
}

/** Throws a {@link UsageError} when the options or the environment name no server or no token. */
export function adminClient(command: string, values: Values): AdminClient {
  const origin = originOf(command, values.url ?? URL_DEFAULT);
  const authorization = `Bearer ${tokenOf(command, values)}`;
  return {
    ask: async (path, body) => {
      const headers = { authorization, ...(body !== undefined && { 'content-type': 'application/json' }) };
      const sent = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
      const answer = exchange(`${origin}${path}`, { ...sent, headers, redirect: 'error' });
      return within(LIMIT_MS, answer, `${origin} does not answer`).catch((error: Error) => {
        throw error instanceof AdminError ? error : new AdminError(reasonOf(error, origin));
      });
    },
  };
}

async function exchange(url: string, request: RequestInit): Promise<unknown> {
  const response = await fetch(url, request);
  const text = await response.text();
  const answer = parsed(text) as { readonly detail?: unknown } | undefined;
  if (response.ok && answer !== undefined) return answer;
  const detail = typeof answer?.detail === 'string' ? answer.detail : 'this is not the admin API of comporta';
  throw new AdminError(`${response.status}: ${detail}`);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function reasonOf(error: Error, origin: string): string {
  const { cause } = error as { readonly cause?: { readonly code?: unknown; readonly message?: unknown } };
  return `cannot reach ${origin}: ${cause?.code ?? cause?.message ?? error.message}`;
}

function originOf(command: string, text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isBare = url !== undefined && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
  if (isBare && ['/', '/admin', '/admin/'].includes(url.pathname) && url.search === '') return url.origin;
  throw new UsageError(`${command}: --url takes an address such as ${URL_DEFAULT}`);
}

/** Never from the command line itself, which every user of the machine may read. */
function tokenOf(command: string, values: Values): string {
  const file = values['token-file'];
  const token = file === undefined ? (process.env.COMPORTA_ADMIN_TOKEN ?? '') : readToken(command, file);
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  throw new UsageError(
    `${command}: which token? Set COMPORTA_ADMIN_TOKEN, or write --token-file FILE (the file holds the token alone)`,
  );
}

function readToken(command: string, file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw new UsageError(`${command}: --token-file: ${error instanceof Error ? error.message : String(error)}`);
  }
}
