import type { ServerConfig } from '../config/config.js';
import type { Address } from '../config/types.js';
import type { Rules } from '../engine/rules.js';

/** Something that listens and decides by the rules in force. */
export interface Door {
  /** Section of the file that opens it. */
  readonly name: 'gateway' | 'api' | 'envoy' | 'admin';
  /** Begins to listen; resolves to where, with the port that the system gave for 0. Rejects with a `ListenError`. */
  listen(): Promise<Address>;
  /** Later requests follow these rules. Throws, and changes nothing, when the configuration cannot be used. */
  apply(config: ServerConfig, rules: Rules): void;
  /** Ends as its settings say, or at once. */
  drain(isAtOnce: boolean): Promise<void>;
}
