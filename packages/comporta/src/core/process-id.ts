/** Names this process among all that share a store. Random, since processes come and go on many machines. */
export const PROCESS_ID: string = Array.from({ length: 4 }, () =>
  Math.floor(Math.random() * 2 ** 24).toString(36),
).join('');
