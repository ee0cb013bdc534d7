import { bytesOf, FIGURES, type Figures } from './figures.js';
import { CLUSTER_MASTERS_MIN, type SplitPlan, splitFor } from './split.js';

/** One limit of a policy, as far as its cost goes. */
export interface PlannedLimit {
  readonly algorithm: string;
  /** Entries that a busy subject has: the limit of an exact log, or the holders of a concurrency limit. */
  readonly entries: number;
}

/** What is to be carried. */
export interface Demand {
  readonly decisionsPerSecond: number;
  /** Subjects that are seen within the longest window. */
  readonly subjects: number;
  readonly limits: readonly PlannedLimit[];
  /** Replicas of each master. */
  readonly replicas: number;
  /** Share of a master's one processor that may be used: the rest is for bursts and for a master that fails. */
  readonly load: number;
  /** Memory that one server may fill. */
  readonly memoryBytes: number;
  /** Decisions per second of the busiest subject, where known. */
  readonly hottestPerSecond: number | undefined;
  /** Of that subject: calls to Redis for each decision, less than 1 with leases. */
  readonly callsPerDecision: number;
  /** Units of its smallest limit, where known. */
  readonly limit: number | undefined;
}

/** What it takes. */
export interface Plan {
  readonly masters: number;
  readonly servers: number;
  /** What asks for so many masters. */
  readonly bound: 'processor' | 'memory' | 'busiest subject' | 'one is enough';
  readonly cpuUsPerDecision: number;
  readonly bytesPerSubject: number;
  readonly eachMaster: {
    /** Share of its processor. */
    readonly load: number;
    readonly memoryBytes: number;
    /** Bytes per second: received, sent to clients, and sent to each replica. */
    readonly inBytes: number;
    readonly outBytes: number;
    readonly replicaBytes: number;
  };
  /** How many times the demand these masters carry at the load that was asked for. */
  readonly room: number;
  /** Decisions per second that one subject can have: all of it lives on one master. */
  readonly subjectPerSecond: number;
  /** The busiest subject needs more than that, with its leases if there are any. */
  readonly isTooHot: boolean;
  /** Of a subject that is too hot: how it is split, on the masters of this plan. */
  readonly split: SplitPlan | undefined;
}

/** Memory beside what Redis counts per key: fragmentation, buffers, keys that wait to expire. */
const MEMORY_MARGIN = 1.3;

/** Reckons from measured costs; whole servers, rounded up. */
export function planFor(demand: Demand): Plan {
  const { decisionsPerSecond, subjects, limits, replicas, load, memoryBytes } = demand;
  const cpuUsPerDecision = cpuOf(limits);
  const bytesPerSubject = Math.round(
    limits.reduce((sum, { algorithm, entries }) => sum + bytesOf(figuresOf(algorithm), entries), 0),
  );
  const byProcessor = (decisionsPerSecond * cpuUsPerDecision) / (1e6 * load);
  const byMemory = (subjects * bytesPerSubject * MEMORY_MARGIN) / memoryBytes;
  const needed = Math.max(1, Math.ceil(byProcessor), Math.ceil(byMemory));
  const onePerSecond = subjectPerSecond(limits, load);
  const least = needed === 1 ? 1 : Math.max(CLUSTER_MASTERS_MIN, needed);
  const split = splitOf(demand, least, onePerSecond);
  const masters = split?.masters ?? least;
  const perSecond = decisionsPerSecond / masters;
  const bytes = (key: 'inBytes' | 'outBytes' | 'replicaBytes') => Math.round(perSecond * sumOf(limits, key));
  return {
    masters,
    servers: masters * (1 + replicas),
    bound: masters > least ? 'busiest subject' : boundOf(byProcessor, byMemory),
    cpuUsPerDecision,
    bytesPerSubject,
    eachMaster: {
      load: (perSecond * cpuUsPerDecision) / 1e6,
      memoryBytes: Math.round((subjects / masters) * bytesPerSubject * MEMORY_MARGIN),
      inBytes: bytes('inBytes'),
      outBytes: bytes('outBytes'),
      replicaBytes: replicas === 0 ? 0 : bytes('replicaBytes'),
    },
    room: masters / Math.max(byProcessor, byMemory, Number.MIN_VALUE),
    subjectPerSecond: onePerSecond,
    isTooHot: split !== undefined,
    split,
  };
}

function boundOf(byProcessor: number, byMemory: number): Plan['bound'] {
  if (Math.max(byProcessor, byMemory) <= 1) return 'one is enough';
  return byProcessor >= byMemory ? 'processor' : 'memory';
}

/** How the busiest subject is split on so many masters or more; `undefined` where one master can give what it needs. */
function splitOf(demand: Demand, masters: number, onePerSecond: number): SplitPlan | undefined {
  const { decisionsPerSecond, hottestPerSecond = 0, callsPerDecision, limits, limit } = demand;
  const perSecond = hottestPerSecond * callsPerDecision;
  if (perSecond <= onePerSecond) return undefined;
  const othersPerSecond = Math.max(0, decisionsPerSecond - hottestPerSecond);
  const holdsPlaces = limits.some(({ algorithm }) => algorithm === 'concurrency');
  return splitFor({ masters, perSecond, othersPerSecond, onePerSecond, limit, holdsPlaces });
}

/** Decisions per second that one subject can have of so large a share of a master's processor. */
export function subjectPerSecond(limits: readonly PlannedLimit[], load: number): number {
  return Math.floor((1e6 * load) / cpuOf(limits));
}

function figuresOf(algorithm: string): Figures {
  const figures = FIGURES[algorithm];
  if (figures === undefined) throw new RangeError(`no figures of ${algorithm}`);
  return figures;
}

/** The costliest limit with its call; the others only add themselves. */
function cpuOf(limits: readonly PlannedLimit[]): number {
  const all = limits.map(({ algorithm }) => figuresOf(algorithm));
  const added = all.reduce((sum, { furtherCpuUs }) => sum + furtherCpuUs, 0);
  return Math.max(...all.map(({ cpuUs, furtherCpuUs }) => cpuUs - furtherCpuUs)) + added;
}

/** At most: one call carries all limits of a subject, and each further one adds less than it takes by itself. */
function sumOf(limits: readonly PlannedLimit[], key: 'inBytes' | 'outBytes' | 'replicaBytes'): number {
  return limits.reduce((sum, { algorithm }) => sum + figuresOf(algorithm)[key], 0);
}
