// Servers in processes of their own, and a load that is cheap for the process that makes it.
import { fork } from 'node:child_process';
import { connect } from 'node:net';

/** Starts a script that reports `{ port }` when it listens and `{ cpuUs }` when it is asked. */
export function startServer(script, environment = {}) {
  const child = fork(script, [], { env: { ...process.env, ...environment } });
  process.once('exit', () => child.kill('SIGKILL'));
  return new Promise((resolve, reject) => {
    child.once('message', ({ port }) => resolve({ child, port }));
    child.once('exit', (code) => reject(new Error(`${script} ended with ${code}`)));
  });
}

/** To be called in a server: says where it listens, and answers questions. */
export function report(port) {
  process.on('message', () => {
    const { user, system } = process.cpuUsage();
    process.send({ cpuUs: user + system });
  });
  process.send({ port });
}

/** Microseconds of processor time that a server has used: its own word, or how it is to be found out. */
export const cpuOf = ({ child, cpuUs }) =>
  cpuUs?.() ??
  new Promise((resolve) => {
    child.once('message', (told) => resolve(told.cpuUs));
    child.send('cpu');
  });

/**
 * Requests per second over keep-alive connections with one request in flight each, on bare sockets. Every response
 * must end with `body`.
 */
export async function load(port, { connections, seconds, body, path = '/api/items?page=2' }) {
  const fields = [`Host: 127.0.0.1:${port}`, 'User-Agent: bench', 'Accept: */*', 'Accept-Encoding: gzip'];
  const request = `GET ${path} HTTP/1.1\r\n${fields.join('\r\n')}\r\n\r\n`;
  let done = 0;
  let isOver = false;
  const sockets = Array.from({ length: connections }, () => {
    const socket = connect(port, '127.0.0.1', () => socket.write(request));
    let tail = '';
    socket.setNoDelay(true);
    socket.on('data', (chunk) => {
      tail = (tail + chunk.toString('latin1')).slice(-body.length);
      if (tail !== body) return;
      tail = '';
      done++;
      if (!isOver) socket.write(request);
    });
    socket.on('error', (error) => console.error(error.message));
    return socket;
  });
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  isOver = true;
  for (const socket of sockets) socket.destroy();
  return done / seconds;
}

/** Requests per second, and CPU of the server per request. */
export async function measure(server, options) {
  const before = await cpuOf(server);
  const perSecond = await load(server.port, options);
  return { perSecond, cpuUs: ((await cpuOf(server)) - before) / (perSecond * options.seconds) };
}
