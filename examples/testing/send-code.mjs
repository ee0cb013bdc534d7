/** Sends a login code by text message, if the number has any left. It is handed its limiter, by tests too. */
export async function sendCode(limiter, number, send) {
  const { allowed, degraded, retryAfterMs } = await limiter.consume(number);
  if (allowed) {
    await send(number);
    return 'sent';
  }
  if (degraded !== undefined) return 'not now';
  return `again in ${Math.ceil(retryAfterMs / 60_000)} min`;
}
