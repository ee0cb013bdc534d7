// The Redis store of express-rate-limit, asked directly as the middleware asks it.
import { RedisStore } from 'rate-limit-redis';
import { ioredis, nodeRedis } from './connections.mjs';

/** Its scripts are loaded on every node: as documented, one of them gets them, and first calls to others fail. */
const onCluster = {
  ioredis:
    (client) =>
    async ({ key, command }) => {
      if (key !== undefined) return client.call(...command);
      const replies = await Promise.all(client.nodes('master').map((node) => node.call(...command)));
      return replies[0];
    },
  'node-redis':
    (client) =>
    async ({ key, isReadOnly, command }) => {
      if (key !== undefined) return client.sendCommand(key, isReadOnly, command);
      const nodes = await Promise.all(client.masters.map((node) => client.nodeClient(node)));
      const replies = await Promise.all(nodes.map((node) => node.sendCommand(command)));
      return replies[0];
    },
};
const onServer = {
  ioredis:
    (client) =>
    (...command) =>
      client.call(...command),
  'node-redis':
    (client) =>
    (...command) =>
      client.sendCommand(command),
};
const open = { ioredis, 'node-redis': nodeRedis };

export const rateLimitRedis = (kind) => async (at) => {
  const client = await open[kind](at);
  const how =
    at.ports.length === 1 ? { sendCommand: onServer[kind](client) } : { sendCommandCluster: onCluster[kind](client) };
  return ({ name, limit, windowMs }) => {
    const store = new RedisStore({ ...how, prefix: name });
    const isReady = store.init({ windowMs });
    isReady.catch(() => {});
    return (subject) => store.increment(subject).then(({ totalHits }) => (totalHits <= limit ? 1 : 0));
  };
};
