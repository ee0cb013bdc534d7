import { STATUS_CODES } from 'node:http';

/** A whole HTTP/1.1 response for a socket that has no response object. Ends the connection. */
export function rawResponse(status: number, headers: readonly string[], body: string): string {
  const all = [...headers, 'content-length', String(Buffer.byteLength(body)), 'connection', 'close'];
  return `${rawHead(status, STATUS_CODES[status] ?? '', all)}${body}`;
}

/** Status line and headers, from a flat list of names and values. */
export function rawHead(status: number, message: string, headers: readonly string[]): string {
  let head = `HTTP/1.1 ${status} ${message}\r\n`;
  for (let i = 0; i < headers.length; i += 2) head += `${headers[i]}: ${headers[i + 1]}\r\n`;
  return `${head}\r\n`;
}
