import { isLoopback } from '../api/check.js';
import type { Path } from '../config/problem.js';
import type { AdminConfig, AdminToken } from './schema.js';

type Report = (path: Path, message: string, hint?: string) => void;

/** What the `admin` section says that cannot be meant. */
export function checkAdmin(admin: AdminConfig | undefined, report: Report): void {
  if (admin === undefined) return;
  const { listen, tokens, tls } = admin;
  if (tls === undefined && !admin.public && !isLoopback(listen.host)) {
    report(
      ['admin', 'listen'],
      `${listen.host} can be reached from other machines, and tokens would travel without TLS`,
      'listen on 127.0.0.1, or add admin.tls, or put TLS in front and set admin.public: true',
    );
  }
  tokens.forEach((given, i) => {
    const isSame = (field: keyof AdminToken): boolean =>
      tokens.slice(0, i).some((other) => other[field] === given[field]);
    if (isSame('name')) report(['admin', 'tokens', i, 'name'], 'this name is used twice', 'give each holder its own');
    if (isSame('token')) report(['admin', 'tokens', i, 'token'], 'this token is used twice (the value is not shown)');
  });
}
