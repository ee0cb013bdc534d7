/**
 * The loop of a custom runtime of AWS Lambda, in place of AWS's own runtime interface client, whose native part
 * has to be compiled. It speaks the same Runtime API: `_HANDLER` is `file.export`, relative to this file.
 */
const api = `http://${process.env.AWS_LAMBDA_RUNTIME_API}/2018-06-01/runtime`;
const [file = '', name = ''] = (process.env._HANDLER ?? '').split('.');

type Handler = (event: unknown, context: object) => Promise<unknown>;

function fault(error: unknown): string {
  const { name: errorType = 'Error', message: errorMessage = String(error) } = (error ?? {}) as Partial<Error>;
  return JSON.stringify({ errorType, errorMessage, stackTrace: [] });
}

const post = (path: string, body: string) => fetch(api + path, { method: 'POST', body }).then((r) => r.text());

async function answerNext(handler: Handler): Promise<void> {
  const next = await fetch(`${api}/invocation/next`);
  const awsRequestId = next.headers.get('lambda-runtime-aws-request-id') ?? '';
  const deadlineMs = Number(next.headers.get('lambda-runtime-deadline-ms'));
  const context = { awsRequestId, getRemainingTimeInMillis: () => deadlineMs - Date.now() };
  try {
    const answer = await handler(await next.json(), context);
    await post(`/invocation/${awsRequestId}/response`, JSON.stringify(answer) ?? '');
  } catch (error) {
    await post(`/invocation/${awsRequestId}/error`, fault(error));
  }
}

try {
  const { [name]: handler } = (await import(new URL(`./${file}.ts`, import.meta.url).href)) as Record<string, Handler>;
  if (handler === undefined) throw new Error(`no handler ${name} in ${file}`);
  for (;;) await answerNext(handler);
} catch (error) {
  await post('/init/error', fault(error)).catch(() => undefined);
  throw error;
}
