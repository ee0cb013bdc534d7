import type { ServerConfig } from '../config/config.js';
import type { Engine } from '../engine/engine.js';
import type { Team } from '../workers/team.js';
import type { Audit } from './audit.js';
import type { AdminSettings } from './settings.js';
import { type HolderOf, holdersBy } from './tokens.js';

/** What the admin API of one process works with, whatever is in force. */
export interface AdminContext {
  readonly engine: Engine;
  /** Who knows of subjects, of the store's nodes and of operations. */
  readonly team: Pick<Team, 'ask'>;
  readonly audit: Pick<Audit, 'record'>;
  readonly isDraining: () => boolean;
}

/** What requests are answered by, made anew for each configuration. */
export interface AdminState extends AdminContext {
  readonly settings: AdminSettings;
  readonly config: ServerConfig;
  readonly holderOf: HolderOf;
}

export function stateOf(config: ServerConfig, settings: AdminSettings, context: AdminContext): AdminState {
  return { ...context, config, settings, holderOf: holdersBy(settings.tokens) };
}
