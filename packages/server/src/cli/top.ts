import { escapeUnprintable } from '../config/shown.js';
import { repeat } from '../time.js';
import { type AdminClient, AdminError, adminClient, CLIENT_HELP, CLIENT_OPTIONS } from './admin-client.js';
import { type Command, UsageError, type Values } from './command.js';
import { printable } from './printable.js';
import { type Seen, topLines } from './top-table.js';

const EVERY_MS = 1000;
const ROWS_WITHOUT_TERMINAL = 20;

export const top: Command = {
  name: 'top',
  summary: 'show the hottest subjects of a running server',
  options: {
    ...CLIENT_OPTIONS,
    by: { type: 'string' },
    policy: { type: 'string' },
    once: { type: 'boolean' },
    json: { type: 'boolean' },
  },
  help: `Shows the hottest subjects of a running server, live in a terminal.

Usage: comporta top [--by requests|refusals] [--policy P] [--once] [--json]

  --by WHAT           requests (default) or refusals
  --policy NAME       of one policy; of all when left out
  --once              print once and end, as it does where the output is no terminal
  --json              print once, as JSON
${CLIENT_HELP}

Keys: r requests, f refusals, q ends. Counts and rates are of the last one to two minutes at this one
server, and never too low; ERROR says by how much they may be too high. Where a subject is asked for
so often that it may take more than half of a Redis master's core, as comporta plan reckons it without
batching, a line above the table says what would help. Exit code: 0 done, 1 the server refused or was
not reached, 2 wrong use of this command.
`,
  run: runTop,
};

type By = 'requests' | 'refusals';

async function runTop(values: Values): Promise<number> {
  const { by = 'requests', policy, once, json } = values;
  if (by !== 'requests' && by !== 'refusals') {
    throw new UsageError(`top: --by takes requests or refusals, not "${by}"`);
  }
  const client = adminClient('top', values);
  try {
    if (json === true || once === true || !process.stdout.isTTY || !process.stdin.isTTY) {
      const seen = await look(client, by, policy, ROWS_WITHOUT_TERMINAL);
      const text = json === true ? jsonText(seen) : topLines(seen).join('\n');
      process.stdout.write(`${text}\n`);
    } else {
      await live(client, by, policy);
    }
    return 0;
  } catch (error) {
    if (!(error instanceof AdminError)) throw error;
    process.stderr.write(`comporta: top: ${printable(error.message)}\n`);
    return 1;
  }
}

/** Subjects are other people's text: what steers a terminal is written as an escape, which reads back the same. */
export const jsonText = (value: object): string =>
  JSON.stringify(value, undefined, 2).split('\n').map(escapeUnprintable).join('\n');

async function look(client: AdminClient, by: By, policy: string | undefined, count: number): Promise<Seen> {
  const query = new URLSearchParams({ by, count: `${count}`, ...(policy !== undefined && { policy }) });
  const [ranking, nodes] = await Promise.all([client.ask(`/admin/top?${query}`), client.ask('/admin/nodes')]);
  return { ...(ranking as object), ...(nodes as object) } as Seen;
}

const LINES_AROUND = 6;

/** Size of the terminal; some say 0 where they do not know. */
function sizeOf({ columns, rows }: NodeJS.WriteStream): { readonly columns: number; readonly rows: number } {
  return { columns: columns > 0 ? columns : 80, rows: rows > 0 ? rows : 24 };
}

const CLEAR = '\x1b[H\x1b[J';
/** The other screen, without a cursor: what the terminal showed before comes back. */
const ENTER = '\x1b[?1049h\x1b[?25l';
const LEAVE = '\x1b[?25h\x1b[?1049l';

/** Draws anew each second until somebody ends it. Throws when the server is not there at first; later it shows that. */
async function live(client: AdminClient, first: By, policy: string | undefined): Promise<void> {
  const { stdin, stdout } = process;
  let by = first;
  const rows = (): number => Math.max(1, sizeOf(stdout).rows - LINES_AROUND);
  let seen = await look(client, by, policy, rows());
  let fault = '';
  const draw = (): void => {
    const size = sizeOf(stdout);
    const lines = topLines(seen, size.columns).slice(0, size.rows - 1);
    const last = (fault === '' ? 'r requests  f refusals  q ends' : fault).slice(0, size.columns);
    stdout.write(`${CLEAR}${[...lines, last].join('\r\n')}`);
  };
  let isAsking = false;
  const renew = async (): Promise<void> => {
    if (isAsking) return;
    isAsking = true;
    try {
      seen = await look(client, by, policy, rows());
      fault = '';
    } catch (error) {
      fault = printable(error instanceof Error ? error.message : String(error));
    }
    isAsking = false;
    draw();
  };
  stdout.write(ENTER);
  draw();
  const stopRepeating = repeat(EVERY_MS, () => void renew());
  try {
    await untilEnded((key) => {
      if (key !== 'r' && key !== 'f') return;
      by = key === 'r' ? 'requests' : 'refusals';
      void renew();
    });
  } finally {
    stopRepeating();
    stdin.setRawMode?.(false);
    stdin.pause();
    stdout.write(LEAVE);
  }
}

/** Resolves at q, Ctrl-C, the end of the input, or a signal. */
function untilEnded(onKey: (key: string) => void): Promise<void> {
  const { stdin } = process;
  return new Promise((resolve) => {
    const end = (): void => resolve();
    process.once('SIGTERM', end).once('SIGINT', end);
    stdin.setRawMode?.(true);
    stdin.setEncoding('utf8').on('data', (keys: string) => {
      for (const key of keys) {
        if (key === 'q' || key === '\x03' || key === '\x04') end();
        else onKey(key);
      }
    });
    stdin.once('end', end).resume();
  });
}
