// `npm run fuzz`: random and mutated bytes against a running rate limit service, in a process of its own.
//   node scripts/fuzz.mjs [--seconds 60] [--seed N]
// It must answer everything with a status that says whose fault it was, go on answering, and keep its memory. Seeds of
// batches that failed are kept in tests/support/fixtures/rls-fuzz-seeds.json, which every run begins with.
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { frameOf } from '../bench/lib/rls-load.mjs';
import { root } from './lib/aliases.mjs';

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '60' }, seed: { type: 'string', default: String(Date.now()) } },
});
const KEPT = join(root, 'tests/support/fixtures/rls-fuzz-seeds.json');
const PATH = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit';
const BATCH = 200;
const RSS_MAX_KB = 600_000;
/** OK, INVALID_ARGUMENT and RESOURCE_EXHAUSTED; where the frame itself is wrong also what the gRPC library says. */
const ALLOWED = { body: ['0', '3', '8'], frame: ['0', '3', '4', '8', '12', '13', undefined] };

/** The same numbers for the same seed. */
function randomOf(seed) {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

const bytesOf = (random, most) => Buffer.from(Array.from({ length: random(most) }, () => random(256)));

/** A request, with some of its bytes changed, doubled, cut or put elsewhere. */
function mutated(random) {
  const text = (most) => bytesOf(random, most).toString('latin1').slice(0, 50);
  const pairs = Array.from({ length: random(5) }, () => [random(2) === 0 ? 'user' : text(20), text(20)]);
  let bytes = frameOf(random(4) === 0 ? text(10) : 'shop', pairs).subarray(5);
  for (let changes = random(6); changes > 0 && bytes.length > 0; changes--) {
    const [at, to] = [random(bytes.length), random(bytes.length)];
    const kind = random(4);
    if (kind === 0) bytes[at] = random(256);
    else if (kind === 1) bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(to)]);
    else if (kind === 2) bytes = Buffer.concat([bytes.subarray(0, at), bytesOf(random, 20), bytes.subarray(at)]);
    else bytes = bytes.subarray(0, at);
  }
  return bytes;
}

function callOf(random) {
  const body = random(3) === 0 ? bytesOf(random, 300) : mutated(random);
  const head = Buffer.alloc(5);
  head.writeUInt32BE(body.length, 1);
  if (random(5) > 0) return { kind: 'body', bytes: Buffer.concat([head, body]), headers: {} };
  head[random(5)] = random(256);
  const headers = [{}, { 'grpc-timeout': `${random(100)}m` }, { 'grpc-timeout': 'soon' }, { 'grpc-encoding': 'gzip' }];
  return { kind: 'frame', bytes: Buffer.concat([head, body]), headers: headers[random(headers.length)] };
}

function send(session, { bytes, headers }) {
  return new Promise((resolve) => {
    const fields = { ':method': 'POST', ':path': PATH, 'content-type': 'application/grpc', te: 'trailers' };
    const stream = session.request({ 'grpc-timeout': '5S', ...fields, ...headers });
    let status;
    const see = (seen) => {
      status = seen['grpc-status'] ?? status;
    };
    stream
      .on('response', see)
      .on('trailers', see)
      .on('error', () => undefined)
      .resume();
    stream.on('close', () => resolve(status));
    stream.end(bytes);
  });
}

/** What is wrong after a batch; nothing when all is well. */
async function faultOf(seed, port) {
  const random = randomOf(seed);
  const session = connect(`http://127.0.0.1:${port}`);
  session.on('error', () => undefined);
  const calls = Array.from({ length: BATCH }, () => callOf(random));
  const statuses = await Promise.all(calls.map((call) => send(session, call)));
  session.destroy();
  const wrong = calls.findIndex(({ kind }, i) => !ALLOWED[kind].includes(statuses[i]));
  if (wrong >= 0) return `status ${statuses[wrong]} for ${calls[wrong].bytes.toString('hex')}`;
  const probe = connect(`http://127.0.0.1:${port}`);
  probe.on('error', () => undefined);
  const sound = await send(probe, { bytes: frameOf('shop', [['user', 'sound']]), headers: {} });
  probe.destroy();
  return sound === '0' ? undefined : `a sound request got status ${sound}`;
}

const folder = mkdtempSync(join(tmpdir(), 'comporta-fuzz-'));
writeFileSync(
  join(folder, 'domain.yaml'),
  'domain: shop\ndescriptors: [{ key: user, rate_limit: { requests_per_unit: 100, unit: second } }]\n',
);
writeFileSync(join(folder, 'comporta.yaml'), 'envoy: { listen: 127.0.0.1:0, config: domain.yaml }\n');
const main = join(root, 'packages/server/dist/cli/main.js');
const child = spawn(process.execPath, [main, 'serve', '-c', join(folder, 'comporta.yaml')], { stdio: 'pipe' });
process.once('exit', () => {
  child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});
let words = '';
const port = await new Promise((resolve, reject) => {
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      words += chunk;
      const found = /service on 127\.0\.0\.1:(\d+)/.exec(words);
      if (found !== null) resolve(Number(found[1]));
    });
  }
  child.once('exit', () => reject(new Error(`the service ended: ${words}`)));
});

const kept = JSON.parse(readFileSync(KEPT, 'utf8'));
const endMs = performance.now() + Number(values.seconds) * 1000;
let batches = 0;
for (let seed = Number(values.seed) >>> 0; batches < kept.length || performance.now() < endMs; batches++, seed++) {
  const used = kept[batches] ?? seed;
  const rssKb = Number(execFileSync('ps', ['-o', 'rss=', '-p', String(child.pid)], { encoding: 'utf8' }));
  const fault = rssKb > RSS_MAX_KB ? `${rssKb} kB of memory are in use` : await faultOf(used, port);
  if (fault === undefined) continue;
  if (!kept.includes(used)) writeFileSync(KEPT, `${JSON.stringify([...kept, used])}\n`);
  console.error(`seed ${used}: ${fault}\n${words.slice(-2000)}`);
  process.exit(1);
}
const rssKb = Number(execFileSync('ps', ['-o', 'rss=', '-p', String(child.pid)], { encoding: 'utf8' }));
console.log(`${batches * BATCH} calls answered, ${Math.round(rssKb / 1000)} MB in use`);
process.exit(0);
