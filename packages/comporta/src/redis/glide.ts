import { steadyMs } from '../core/time.js';
import type { RedisClient, RedisNode } from './client.js';
import { glideError, isLoss } from './glide-errors.js';
import {
  type GlideClusterLike,
  type GlideLike,
  type Inside,
  openInside,
  type Route,
  warningsFor,
} from './glide-options.js';

/** Strings, whatever the client's own decoder. */
const AS_TEXT = { decoder: 1 } as const;
const PING = ['PING'];
const SLOTS = ['CLUSTER', 'SLOTS'];
/** A command as GLIDE takes it. */
type Give = (command: string[]) => Promise<unknown>;

/** A `GlideClient` as a {@link RedisClient}. */
export function fromGlide(client: GlideLike): RedisClient {
  const inside = openInside(client);
  const node = new GlideNode('redis', inside, true, (command) => client.customCommand(command, AS_TEXT));
  return {
    isCluster: false,
    nodeOf: () => node,
    nodeAt: () => node,
    refresh: () => undefined,
    warnings: warningsFor(inside, false),
    lastError: () => lastErrorOf(inside, [node]),
    close: async () => client.close(),
  };
}

/** A `GlideClusterClient` as a {@link RedisClient}. */
export function fromGlideCluster(client: GlideClusterLike): RedisClient {
  const inside = openInside(client);
  const map = new GlideMap(client, inside);
  return {
    isCluster: true,
    nodeOf: (slot) => map.nodeOf(slot),
    nodeAt: (address) => map.nodes.get(address),
    refresh: (failing) => map.refresh(failing),
    warnings: warningsFor(inside, true),
    lastError: () => map.fault ?? lastErrorOf(inside, map.nodes.values()),
    close: async () => client.close(),
  };
}

/** GLIDE says nothing of its connections: whether there is one is judged by what became of the calls. */
class GlideNode implements RedisNode {
  readonly address: string;
  readonly #inside: Inside;
  readonly #give: Give;
  #isUp: boolean;
  #isAsking = false;
  #isSound: boolean;
  fault: string | undefined;

  constructor(address: string, inside: Inside, isSound: boolean, give: Give) {
    this.address = address;
    this.#isSound = isSound;
    this.#inside = inside;
    this.#give = give;
    this.#isUp = inside.config?.lazyConnect !== true;
  }

  /** Its last call was answered; of one without calls, that GLIDE has known it from the start. */
  get isSound(): boolean {
    return this.#isSound && this.#isUp;
  }

  isReady(): boolean {
    if (this.#inside.isClosed === true) return false;
    if (!this.#isUp) this.#ask();
    return this.#isUp;
  }

  async send(command: readonly string[]): Promise<unknown> {
    try {
      const reply = await this.#give([...command]);
      this.#isSound = true;
      return fromReply(reply);
    } catch (error) {
      const stated = glideError(error);
      if (isLoss(error)) this.#isUp = false;
      if (isLoss(error) || isUnanswered(stated)) {
        this.#isSound = false;
        this.fault = stated.message;
      }
      throw stated;
    }
  }

  /** The answer opens what a lost connection closed; a lazy client connects with the question. */
  #ask(): void {
    if (this.#isAsking) return;
    this.#isAsking = true;
    const settle = (isUp: boolean) => {
      this.#isAsking = false;
      this.#isUp = isUp;
    };
    this.send(PING).then(
      () => settle(true),
      () => settle(false),
    );
  }
}

const isUnanswered = (error: Error): boolean => 'kind' in error && error.kind === 'timeout';

/** A map is asked for when it is so old. GLIDE follows redirects by itself, so that none tells of a change. */
const MAP_MS = 1000;
/** Then another node is asked, however long the client itself would wait. */
const UNANSWERED_MS = 250;

/** Which node serves which slot, as a node told it last. */
class GlideMap {
  readonly nodes: Map<string, GlideNode> = new Map();
  fault: string | undefined;
  readonly #client: GlideClusterLike;
  readonly #inside: Inside;
  #ranges: readonly (readonly [from: number, to: number, node: GlideNode])[] = [];
  #askedAtMs = Number.NEGATIVE_INFINITY;
  #isAsking = false;

  constructor(client: GlideClusterLike, inside: Inside) {
    this.#client = client;
    this.#inside = inside;
    this.refresh();
  }

  nodeOf(slot: number): GlideNode | undefined {
    if (steadyMs() - this.#askedAtMs > MAP_MS) this.refresh();
    return this.#ranges.find(([from, to]) => from <= slot && slot <= to)?.[2];
  }

  refresh(failing?: string): void {
    const isAsking = this.#isAsking && steadyMs() - this.#askedAtMs < UNANSWERED_MS;
    if (isAsking || this.#inside.isClosed === true) return;
    this.#isAsking = true;
    this.#askedAtMs = steadyMs();
    const settle = (fault?: string) => {
      this.#isAsking = false;
      this.fault = fault;
    };
    const other = this.#soundBut(failing);
    const asked = other?.send(SLOTS) ?? this.#ask('randomNode', SLOTS);
    asked
      .then((reply) => this.#read(reply))
      .then(
        () => settle(),
        (error) => settle(glideError(error).message),
      );
  }

  #read(reply: unknown): void {
    const ranges = reply as readonly (readonly [number, number, readonly [string | null, number]])[];
    this.#ranges = ranges.map(([from, to, [host, port]]) => {
      // A node that does not know its own name means the one that it was reached by.
      const name = host || (this.#inside.config?.addresses?.[0]?.host ?? '');
      return [from, to, this.#nodeAt(name, port)] as const;
    });
    const served = new Set(this.#ranges.map(([, , node]) => node));
    for (const [address, node] of this.nodes) if (!served.has(node)) this.nodes.delete(address);
  }

  #nodeAt(host: string, port: number): GlideNode {
    const address = `${host}:${port}`;
    const known = this.nodes.get(address) ?? this.#newNode(address, host, port);
    this.nodes.set(address, known);
    return known;
  }

  #newNode(address: string, host: string, port: number): GlideNode {
    return new GlideNode(address, this.#inside, this.#ranges.length === 0, this.#sender(host, port));
  }

  /**
   * A node that does not answer may be one that GLIDE does not know yet, or that another has taken over from: GLIDE
   * hears of either only from a redirect. So a sound node is given the call, and its redirect leads there.
   */
  #sender(host: string, port: number): Give {
    const address = `${host}:${port}`;
    const direct = this.#routeTo(host, port);
    return (command) => {
      const key = keyOf(command);
      if (key === undefined || this.nodes.get(address)?.isSound === true) return this.#ask(direct, command);
      const guide = this.#soundBut(address)?.address;
      const route = guide === undefined ? ({ type: 'primarySlotKey', key } as const) : this.#routeTo(...split(guide));
      return this.#ask(route, command);
    };
  }

  #soundBut(address: string | undefined): GlideNode | undefined {
    return [...this.nodes.values()].find((node) => node.address !== address && node.isSound);
  }

  #routeTo(host: string, port: number): Route {
    const [to, at] = this.#inside.config?.addressResolver?.(host, port) ?? [host, port];
    return { type: 'routeByAddress', host: to, port: at };
  }

  #ask(route: Route, command: string[]): Promise<unknown> {
    return this.#client.customCommand(command, { ...AS_TEXT, route });
  }
}

/** The first key of a script call; other commands have none here. */
const keyOf = (command: readonly string[]): string | undefined =>
  command[0]?.startsWith('EVAL') === true ? command[3] : undefined;

function split(address: string): [host: string, port: number] {
  const colon = address.lastIndexOf(':');
  return [address.slice(0, colon), Number(address.slice(colon + 1))];
}

/** Maps come as lists of `{ key, value }`. */
function fromReply(reply: unknown): unknown {
  if (!Array.isArray(reply) || !isEntry(reply[0])) return reply;
  return new Map(reply.filter(isEntry).map(({ key, value }) => [key, value]));
}

function isEntry(value: unknown): value is { readonly key: unknown; readonly value: unknown } {
  return typeof value === 'object' && value !== null && 'key' in value && 'value' in value;
}

function lastErrorOf(inside: Inside, nodes: Iterable<GlideNode>): string | undefined {
  if (inside.isClosed === true) return 'the client is closed';
  for (const { fault } of nodes) if (fault !== undefined) return fault;
  return undefined;
}
