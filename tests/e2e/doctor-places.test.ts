import { createServer } from 'node:net';
import { redisStore, selfTest } from 'comporta/redis';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { makeCertificate } from '../support/certificate.js';
import { type Cluster, startCluster } from '../support/cluster.js';
import { formCluster } from '../support/cluster-form.js';
import { Connection } from '../support/connection.js';
import { freePort } from '../support/ports.js';
import { startSentinels } from '../support/sentinels.js';
import { installedKinds, type Server, startServer } from '../support/servers.js';
import { until } from '../support/wait.js';
import { makeFolder, runCommand } from './cli-support.js';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** What is said of an address that is no place for decisions: one error with one fix, and no more. */
async function complaintAbout(url: string): Promise<string> {
  const store = redisStore(url);
  const findings = await selfTest(store, { timeoutMs: 60_000, connectMs: 1500 });
  await store.close();
  expect(findings).toMatchObject([{ level: 'error' }]);
  return findings.map(({ check, message, fix }) => `${check} ${message}\nfix: ${fix}`).join();
}

test('a server that takes connections and answers nothing', async () => {
  const silent = createServer(() => undefined);
  const port = await freePort();
  await new Promise<void>((resolve) => silent.listen(port, '127.0.0.1', resolve));
  cleanups.push(() => silent.close());
  for (const url of [
    `redis://127.0.0.1:${port}`,
    `redis-cluster://127.0.0.1:${port}`,
    `redis-sentinel://127.0.0.1:${port}/a`,
  ]) {
    // The command ends too: no connection keeps it alive.
    const command = runCommand(['doctor', url]);
    expect(await command.exit(), url).toBe(1);
    expect(command.output()).toMatch(/^ERROR {4}connection .*\n.*fix: nothing answers there: a frozen server/m);
    expect(command.output()).toContain('1 error, 0 warnings');
  }
});

describe.each(installedKinds())('a %s server at the wrong address', (kind) => {
  let server: Server;
  let cluster: Cluster;
  beforeAll(async () => {
    server = await startServer({ kind });
    cluster = await startCluster({ kind, primaries: 3, replicas: 3 });
  });
  afterAll(() => Promise.all([server?.stop(), cluster?.stop()]));

  test('a replica', async () => {
    await using replica = await startServer({ kind, args: ['--replicaof', '127.0.0.1', String(server.port)] });
    expect(await complaintAbout(replica.url)).toMatch(
      new RegExp(`mode .*a replica.*\n.*give the address of its primary at 127.0.0.1:${server.port}`),
    );
  });

  test('a node of a cluster as a single server, with a database too', async () => {
    const [node] = cluster.primaries;
    const fix = /a node of a cluster.*\n.*write redis-cluster:\/\//;
    expect(await complaintAbout(String(node?.url))).toMatch(fix);
    expect(await complaintAbout(String(cluster.replicas[0]?.url))).toMatch(fix);
    expect(await complaintAbout(`${node?.url}/1`)).toMatch(
      /connection .*SELECT is not allowed.*\n.*this is a cluster: write redis-cluster:\/\/, without a database/,
    );
  });

  test('a cluster that has just been formed has replicas, whatever its map of slots says', async () => {
    const command = runCommand(['doctor', cluster.url]);
    expect(await command.exit(), command.output()).toBe(0);
    expect(command.output()).toMatch(/^ok {7}replicas {4}every primary has a replica/m);
  });

  test('a database that there is not', async () => {
    expect(await complaintAbout(`${server.url}/99`)).toMatch(/connection .*DB index.*\n.*0 to 15 by default/);
  });

  test('no room for one more connection', async () => {
    await using full = await startServer({ kind });
    await full.command('CONFIG', 'SET', 'maxclients', '1');
    expect(await complaintAbout(full.url)).toMatch(/connection .*max number of clients.*\n.*raise maxclients/);
  });

  test('a Sentinel as a server or a cluster, and a server as a Sentinel or a cluster', async () => {
    const sentinels = await startSentinels(kind, server, 'primary');
    cleanups.push(() => sentinels.stop());
    const [port] = sentinels.ports;
    await until(() => Connection.open(Number(port)).then((connection) => connection.close() === undefined));
    expect(await complaintAbout(`redis://127.0.0.1:${port}`)).toMatch(
      /mode .*a Sentinel.*\n.*write redis-sentinel:\/\/HOST/,
    );
    expect(await complaintAbout(`redis-cluster://127.0.0.1:${port}`)).toMatch(/connection .*\n.*no node of a cluster/);
    expect(await complaintAbout(`redis-sentinel://127.0.0.1:${port}/other`)).toMatch(/"other"\n.*SENTINEL MASTERS/);
    const single = `127.0.0.1:${server.port}`;
    expect(await complaintAbout(`redis-sentinel://${single}/a`)).toMatch(/connection .*\n.*no Sentinel listens there/);
    expect(await complaintAbout(`redis-cluster://${single}`)).toMatch(/connection .*\n.*the server is no cluster/);
  });

  test('TLS where there is none, and none where there is', async () => {
    const port = await freePort();
    const certificate = makeCertificate(makeFolder());
    await using secure = await startServer({ kind, args: certificate.serverArgs(port) });
    expect(secure.running).toBe(true);
    for (const scheme of ['redis', 'redis-cluster']) {
      expect(await complaintAbout(`${scheme}://127.0.0.1:${port}`)).toMatch(/connection .*\n.*write rediss:\/\//);
    }
    for (const scheme of ['rediss', 'rediss-cluster']) {
      expect(await complaintAbout(`${scheme}://127.0.0.1:${server.port}`)).toMatch(
        /connection .*\n.*(speaks|may speak) no TLS/,
      );
    }
  });

  test('a password that is wrong or missing, on a cluster as on one server', async () => {
    await using locked = await startServer({ kind, args: ['--requirepass', 'secret'] });
    await using lockedCluster = await startCluster({ kind, primaries: 1, replicas: 0 });
    await lockedCluster.nodes[0]?.command('CONFIG', 'SET', 'requirepass', 'secret');
    for (const url of [locked.url, lockedCluster.url]) {
      expect(await complaintAbout(url)).toMatch(/connection .*NOAUTH.*\n.*wants a password/);
      expect(await complaintAbout(url.replace('//', '//:wrong@'))).toMatch(/connection .*WRONGPASS.*\n.*is wrong/);
    }
  });

  test('nodes that are no cluster yet; a store is of use as soon as they are', async () => {
    const args = ['--cluster-enabled', 'yes', '--cluster-port'];
    const node = await startServer({ kind, args: [...args, String(await freePort())] });
    cleanups.push(() => node.stop());
    const url = node.url.replace('redis', 'redis-cluster');
    expect(await complaintAbout(url)).toMatch(/connection .*serves no slots.*\n.*--cluster create/);
    const store = redisStore(url);
    cleanups.push(() => store.close());
    await expect(store.ready(1500)).rejects.toThrow(/serves no slots/);
    await formCluster([node], []);
    await store.ready(2000);
  });
});
