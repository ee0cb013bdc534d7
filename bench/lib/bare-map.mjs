/** The least a token bucket can be: floats in a Map, no costs, no refusal details. 100 tokens, 10 more each second. */
export function bareMap() {
  const buckets = new Map();
  return (subject) => {
    const now = Date.now();
    let bucket = buckets.get(subject);
    if (bucket === undefined) {
      bucket = { tokens: 100, at: now };
      buckets.set(subject, bucket);
    }
    bucket.tokens = Math.min(100, bucket.tokens + (now - bucket.at) * 0.01);
    bucket.at = now;
    if (bucket.tokens < 1) return { allowed: false, retryAfterMs: Math.ceil((1 - bucket.tokens) * 100) };
    bucket.tokens--;
    return { allowed: true, remaining: bucket.tokens };
  };
}
