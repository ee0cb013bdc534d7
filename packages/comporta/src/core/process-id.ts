let id = '';

/**
 * Names this process among all that share a store. Random, since processes come and go on many machines; made
 * at its first use, since edge runtimes allow nothing random while modules load.
 */
export function processId(): string {
  id ||= Array.from({ length: 4 }, () => Math.floor(Math.random() * 2 ** 24).toString(36)).join('');
  return id;
}
