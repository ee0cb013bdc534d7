import type { RedisStoreOptions } from 'comporta/redis';
import type { AuditEntry, AuditedOperation } from '../admin/audit.js';
import type { RankedBy, Ranking } from '../admin/hotspots.js';
import type { Findings } from '../alerts/rules.js';
import type { OnReload } from '../metrics/reload-metrics.js';
import type { FamilySnapshot } from './merge-metrics.js';
import type { NodesSeen } from './merge-nodes.js';

export type Part = NonNullable<RedisStoreOptions['part']>;

/** What a process can be asked about itself. */
export interface Questions {
  readonly metrics: { readonly asked: undefined; readonly answer: readonly FamilySnapshot[] };
  readonly nodes: { readonly asked: undefined; readonly answer: NodesSeen };
  readonly audit: { readonly asked: number; readonly answer: readonly AuditEntry[] };
  readonly ranking: {
    readonly asked: { readonly by: RankedBy; readonly count: number; readonly policy?: string | undefined };
    readonly answer: Ranking;
  };
}

export type Question = keyof Questions;
export type Asked<K extends Question = Question> = Questions[K]['asked'];
export type Answered<K extends Question = Question> = Questions[K]['answer'];
export type Answerers = { readonly [K in Question]?: (asked: Asked<K>) => Answered<K> };

/** What one process does for all. */
export interface Shared {
  alert(findings: Findings): void;
  audit(operation: AuditedOperation): void;
  /** Files that every process reads were read again. */
  readonly reloaded: OnReload;
}

/** The processes that serve on the same ports, as one of them sees them. */
export interface Team {
  /** What this process answers when one of them asks. */
  answerBy(answerers: Answerers): void;
  /** Answers of all; rejects with a `Refusal` when they cannot be had in time. */
  ask<K extends Question>(what: K, asked: Asked<K>): Promise<readonly Answered<K>[]>;
  /** `undefined` where this process does all by itself. */
  readonly shared?: Shared;
  /** How many there are, and which of them this is. */
  readonly part?: Part;
}

/** The answer of one process, as a list of it or of none. */
export function answersOf<K extends Question>(answerers: Answerers, what: K, asked: Asked<K>): readonly Answered<K>[] {
  const answer = answerers[what] as ((asked: Asked<K>) => Answered<K>) | undefined;
  return answer === undefined ? [] : [answer(asked)];
}

/** A process that serves by itself. */
export function alone(): Team {
  let mine: Answerers = {};
  return {
    answerBy: (answerers) => {
      mine = answerers;
    },
    ask: async (what, asked) => answersOf(mine, what, asked),
  };
}
