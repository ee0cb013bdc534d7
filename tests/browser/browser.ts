import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { findBrowser } from '../../scripts/lib/find-browser.mjs';
import { watch } from '../support/reap.js';
import { closeServer, listen, portOf } from '../unit/http/serve.js';

// These packages have a folder of their own, which may not be installed where types are checked.
const installed = (name: string): Promise<unknown> => import(name);

/** What is used of playwright-core. */
interface Driver {
  readonly chromium: {
    launchServer(options: object): Promise<BrowserServer>;
    connect(endpoint: string): Promise<{ newPage(): Promise<Page> }>;
  };
}

interface BrowserServer {
  wsEndpoint(): string;
  process(): ChildProcess;
  close(): Promise<void>;
}

/** What is used of a page; expressions are text, so that no tool rewrites them on their way. */
export interface Page {
  goto(url: string): Promise<unknown>;
  evaluate(expression: string): Promise<unknown>;
}

const path = findBrowser();

/** Whether a browser and its driver are here; see `scripts/install-browser.mjs`. */
export const hasBrowser: boolean =
  path !== undefined && existsSync(fileURLToPath(new URL('./node_modules/playwright-core', import.meta.url)));

/** The `cors` middleware of Express. */
export async function loadCors(): Promise<(options: object) => never> {
  return ((await installed('cors')) as { readonly default: (options: object) => never }).default;
}

/** What a script of a page gets from `fetch`. */
interface Seen {
  /** The error that the promise was rejected with; all else is missing then. */
  readonly error?: string;
  readonly type?: ResponseType;
  readonly status?: number;
  /** All fields that the script may read, without those of the transport. */
  readonly fields?: Readonly<Record<string, string>>;
  readonly body?: string;
}

const PAGE = `<!doctype html><title>A page</title><link rel="icon" href="data:,"><script>
async function ask(url, init) {
  try {
    const response = await fetch(url, init);
    const { type, status, headers } = response;
    return { type, status, fields: Object.fromEntries(headers), body: await response.text() };
  } catch (error) {
    return { error: String(error) };
  }
}
</script>`;

export interface Browser {
  /** Where its pages come from. */
  readonly origin: string;
  /** What a script of the page at `origin` gets from `fetch(url, init)`. */
  ask(url: string, init?: object): Promise<Seen>;
  newPage(): Promise<Page>;
  close(): Promise<void>;
}

/** Starts Chromium without a window and opens a page of an origin of its own. */
export async function openBrowser(): Promise<Browser> {
  const { chromium } = (await installed('playwright-core')) as Driver;
  const pages = await listen((_, response) => response.setHeader('content-type', 'text/html').end(PAGE));
  const origin = `http://127.0.0.1:${portOf({ server: pages })}`;
  // Chromium refuses to put root, as whom tests run in containers, into its sandbox.
  const args = ['--no-sandbox', '--disable-dev-shm-usage'];
  const browser = await chromium.launchServer({ executablePath: path, headless: true, args, host: '127.0.0.1' });
  watch(browser.process());
  const connection = await chromium.connect(browser.wsEndpoint());
  const page = await connection.newPage();
  await page.goto(origin);
  return {
    origin,
    ask: async (url, init = {}) =>
      (await page.evaluate(`ask(${JSON.stringify(url)}, ${JSON.stringify(init)})`)) as Seen,
    newPage: () => connection.newPage(),
    close: async () => {
      await browser.close();
      await closeServer(pages);
    },
  };
}
