// The reference of every ratio: what a decision costs when there is no library at all. Sockets of our own, one write
// per turn of the event loop, one EVALSHA of the cheapest exact token bucket that Redis can run.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import slotOf from 'cluster-key-slot';

/** The state of the bucket is the time to live of its key: no value, no clock but Redis's own. Replies in ms. */
const BUCKET = `
local wait = redis.call('PTTL', KEYS[1])
local after = math.max(0, wait) + ARGV[1]
if after > tonumber(ARGV[2]) then return ARGV[2] - after end
if wait > 0 then redis.call('PEXPIRE', KEYS[1], after) else redis.call('SET', KEYS[1], '', 'PX', after) end
return ARGV[2] - after`;
const SHA = createHash('sha1').update(BUCKET).digest('hex');
const SLOTS = 16_384;

const bulk = (text) => `$${Buffer.byteLength(text)}\r\n${text}\r\n`;

/** A connection for replies that are whole numbers. */
class Wire {
  #socket;
  #outgoing = '';
  #waiting = [];
  #answered = 0;
  #rest = '';

  static async open(port) {
    const wire = new Wire();
    wire.#socket = connect({ port, host: '127.0.0.1', noDelay: true });
    await once(wire.#socket, 'connect');
    wire.#socket.setEncoding('latin1').on('data', (text) => wire.#receive(text));
    wire.#socket.on('close', () => wire.#fail(new Error('the connection ended')));
    wire.#socket.on('error', () => {});
    return wire;
  }

  send(command) {
    if (this.#outgoing === '') process.nextTick(() => this.#flush());
    this.#outgoing += command;
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  #flush() {
    this.#socket.write(this.#outgoing);
    this.#outgoing = '';
  }

  #receive(text) {
    const all = this.#rest + text;
    let start = 0;
    for (let end = all.indexOf('\r\n'); end >= 0; end = all.indexOf('\r\n', start)) {
      this.#settle(all, start, end);
      start = end + 2;
    }
    this.#rest = all.slice(start);
    if (this.#answered > 1024) {
      this.#waiting.splice(0, this.#answered);
      this.#answered = 0;
    }
  }

  #settle(all, start, end) {
    const { resolve, reject } = this.#waiting[this.#answered++];
    if (all[start] === ':') resolve(Number(all.slice(start + 1, end)));
    else reject(new Error(all.slice(start + 1, end)));
  }

  #fail(error) {
    for (const { reject } of this.#waiting.splice(0).slice(this.#answered)) reject(error);
    this.#answered = 0;
  }

  /** Loads the script; its reply, the digest, is the only one that is no number. */
  async load() {
    this.#socket.write(`*3\r\n${bulk('SCRIPT')}${bulk('LOAD')}${bulk(BUCKET)}`);
    await new Promise((resolve) => this.#waiting.push({ resolve, reject: resolve }, { resolve, reject: resolve }));
    return this;
  }
}

/** `ports` are one server, or the primaries of a cluster that share the slots evenly, in this order. */
export async function bareSocket({ ports }) {
  const wires = await Promise.all(ports.map(async (port) => (await Wire.open(port)).load()));
  // Where a key stands is known before: working it out would be the work of a library.
  const placed = new Map();
  const wireOf = (key) => {
    if (wires.length === 1) return wires[0];
    let wire = placed.get(key);
    if (wire === undefined) {
      wire = wires.find((_, i) => slotOf(key) < Math.floor((SLOTS * (i + 1)) / wires.length));
      placed.set(key, wire);
    }
    return wire;
  };
  return ({ prefix, capacity, refillMs }) => {
    const head = `*6\r\n${bulk('EVALSHA')}${bulk(SHA)}${bulk('1')}`;
    const tail = bulk(String(refillMs)) + bulk(String(capacity * refillMs));
    return (subject) => {
      const key = `${prefix}${subject}`;
      return wireOf(key)
        .send(head + bulk(key) + tail)
        .then((left) => (left >= 0 ? 1 : 0));
    };
  };
}
