import { bytesOf, FIGURES, type Figures } from './figures.js';

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
}

/** What it takes. */
export interface Plan {
  readonly masters: number;
  readonly servers: number;
  /** What asks for so many masters. */
  readonly bound: 'processor' | 'memory' | 'one is enough';
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
  /** The busiest subject needs more than that. */
  readonly isTooHot: boolean;
}

/** Memory beside what Redis counts per key: fragmentation, buffers, keys that wait to expire. */
const MEMORY_MARGIN = 1.3;

/** Nodes of the smallest cluster that can elect a new master. */
const CLUSTER_MASTERS_MIN = 3;

/** Reckons from measured costs; whole servers, rounded up. */
export function planFor(demand: Demand): Plan {
  const { decisionsPerSecond, subjects, limits, replicas, load, memoryBytes, hottestPerSecond } = demand;
  const cpuUsPerDecision = cpuOf(limits);
  const bytesPerSubject = Math.round(
    limits.reduce((sum, { algorithm, entries }) => sum + bytesOf(figuresOf(algorithm), entries), 0),
  );
  const byProcessor = (decisionsPerSecond * cpuUsPerDecision) / (1e6 * load);
  const byMemory = (subjects * bytesPerSubject * MEMORY_MARGIN) / memoryBytes;
  const needed = Math.max(1, Math.ceil(byProcessor), Math.ceil(byMemory));
  const masters = needed === 1 ? 1 : Math.max(CLUSTER_MASTERS_MIN, needed);
  const perSecond = decisionsPerSecond / masters;
  const onePerSecond = subjectPerSecond(limits, load);
  const bytes = (key: 'inBytes' | 'outBytes' | 'replicaBytes') => Math.round(perSecond * sumOf(limits, key));
  return {
    masters,
    servers: masters * (1 + replicas),
    bound: needed === 1 ? 'one is enough' : byProcessor >= byMemory ? 'processor' : 'memory',
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
    isTooHot: hottestPerSecond !== undefined && hottestPerSecond > onePerSecond,
  };
}

/** Decisions per second that one subject can have of so large a share of a master's processor. */
export function subjectPerSecond(limits: readonly PlannedLimit[], load: number): number {
  return Math.floor((1e6 * load) / cpuOf(limits));
}

const PARTS = [2, 4, 8, 16, 32, 64] as const;

/** Into how many parts a subject is split that needs so many decisions per second of `onePerSecond`. */
export function partsFor(perSecond: number, onePerSecond: number): number {
  return PARTS.find((parts) => parts * onePerSecond >= perSecond) ?? 64;
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
