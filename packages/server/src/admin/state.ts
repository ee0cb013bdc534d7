import type { ServerConfig } from '../config/config.js';
import type { Engine } from '../engine/engine.js';
import type { Audit } from './audit.js';
import type { Insight } from './insight.js';
import type { AdminConfig } from './schema.js';
import { type HolderOf, holdersBy } from './tokens.js';

/** What the admin API of one process works with, whatever is in force. */
export interface AdminContext {
  readonly engine: Engine;
  readonly insight: Insight;
  readonly audit: Audit;
  readonly isDraining: () => boolean;
}

/** What requests are answered by, made anew for each configuration. */
export interface AdminState extends AdminContext {
  readonly settings: AdminConfig;
  readonly config: ServerConfig;
  readonly holderOf: HolderOf;
}

export function stateOf(config: ServerConfig, settings: AdminConfig, context: AdminContext): AdminState {
  return { ...context, config, settings, holderOf: holdersBy(settings.tokens) };
}
