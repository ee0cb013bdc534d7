/** Pieces of a stream, in runtimes too where streams cannot be iterated. */
export async function* chunksOf(stream: ReadableStream<Uint8Array> | null): AsyncGenerator<Uint8Array> {
  const reader = stream?.getReader();
  if (reader === undefined) return;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    // Whoever stops early wants nothing more of it; a stream that has ended or failed takes no harm.
    await reader.cancel().catch(() => undefined);
  }
}

/** All of it as text; `undefined` when it has more than `maxBytes`, and then the rest is not read. */
export async function readText(chunks: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string | undefined> {
  const decoder = new TextDecoder();
  let [text, bytes] = ['', 0];
  for await (const chunk of chunks) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) return undefined;
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
