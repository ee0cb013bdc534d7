import type { SuiteAnswer } from 'comporta/testing';

/** What an application with web responses answers in the published suite. */
export function webAnswer({ status, body, isEndless }: SuiteAnswer): Response {
  if (!isEndless) return new Response(body, { status });
  const start = (controller: ReadableStreamDefaultController) => controller.enqueue(new TextEncoder().encode(body));
  return new Response(new ReadableStream({ start }), { status });
}
