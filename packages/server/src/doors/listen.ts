import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Address } from '../config/types.js';

/** Address that could not be listened on, and the setting that named it. */
export class ListenError extends Error {
  override readonly name: string = 'ListenError';
}

/** Starts a server at an address of the file; rejects with a {@link ListenError} that says what to do. */
export function listen(server: Server, { host, port }: Address, setting: string): Promise<Address> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(new ListenError(explainListen(error, host, port, setting))),
    );
    server.listen(port, host, () => resolve({ host, port: (server.address() as AddressInfo).port }));
  });
}

/** Why an address cannot be listened on. */
export function explainListen(
  { code, message }: NodeJS.ErrnoException,
  host: string,
  port: number,
  setting: string,
): string {
  const where = `cannot listen on ${host}:${port} (${setting})`;
  if (code === 'EADDRINUSE') return `${where}: another program uses this port; stop it or choose another port`;
  if (code === 'EACCES') return `${where}: not permitted; ports below 1024 need privileges`;
  if (code === 'EADDRNOTAVAIL') return `${where}: this machine has no such address`;
  return `${where}: ${message}`;
}
