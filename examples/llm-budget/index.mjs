// Budgets of tokens per user and per tenant in front of a model that streams. The model here is a few lines.
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLimiter, memoryStore, quota, reserveAll, slidingWindow } from 'comporta';
import { redisStore } from 'comporta/redis';

const { PORT = '3000', STORE, HOLD_MS = '60000', TOKEN_MS = '20' } = process.env;

// With STORE=redis://127.0.0.1:6379 all processes spend from the same budgets.
const store = STORE === undefined ? memoryStore() : redisStore(STORE);
await store.ready(5000);
const perUser = createLimiter({ policy: 'user', limits: slidingWindow({ limit: 300, window: '1h' }), store });
const perTenant = createLimiter({ policy: 'tenant', limits: quota({ limit: 500, per: 'day' }), store });
// Longer than any answer takes: what nobody has settled by then is given back.
const holdMs = Number(HOLD_MS);

/** Says the prompt three times, a word at a time. */
async function* generate(prompt, maxTokens, signal) {
  const words = prompt.split(' ');
  for (let i = 0; i < Math.min(maxTokens, words.length * 3) && !signal.aborted; i++) {
    await sleep(Number(TOKEN_MS));
    yield `${words[i % words.length]} `;
  }
}

const budgetsOf = ({ headers }) => [
  { limiter: perUser, subject: headers['x-user'] ?? 'anonymous' },
  { limiter: perTenant, subject: headers['x-tenant'] ?? 'nobody' },
];

async function chat(request, response) {
  const { prompt, maxTokens = 100 } = JSON.parse(await text(request));
  const budgets = budgetsOf(request);
  const asked = prompt.split(' ').length;
  const { allowed, reservations } = await reserveAll(budgets, { cost: asked + maxTokens, holdMs });
  if (!allowed) return refuse(response, reservations);

  const gone = new AbortController();
  response.once('close', () => gone.abort());
  let used = asked;
  try {
    for await (const token of generate(prompt, maxTokens, gone.signal)) {
      used++;
      response.write(token);
    }
  } finally {
    // However it ended, what was produced is what it cost.
    await Promise.all(budgets.map(({ limiter }, i) => settle(limiter, reservations[i], used)));
  }
  response.end(`\n(${used} tokens)\n`);
}

async function settle(limiter, reservation, used) {
  const { settled, reason } = await limiter.settle(reservation, used);
  if (!settled) console.error(`${limiter.policy} ${reservation.subject}: ${used} tokens not settled, ${reason}`);
}

function refuse(response, reservations) {
  const refused = reservations.filter(({ allowed }) => !allowed);
  const waits = refused.map(({ retryAfterMs }) => retryAfterMs);
  const seconds = Math.max(1, Math.ceil(Math.max(...waits) / 1000));
  const headers = waits.includes(null) ? {} : { 'retry-after': String(seconds) };
  response.writeHead(429, headers);
  response.end(`no room in the budget of: ${refused.map(({ policy }) => policy).join(', ')}\n`);
}

async function showBudget(request, response) {
  const looks = await Promise.all(budgetsOf(request).map(({ limiter, subject }) => limiter.peek(subject)));
  const left = looks.map(({ policy, binding }) => [policy, binding?.remaining]);
  response.setHeader('content-type', 'application/json').end(`${JSON.stringify(Object.fromEntries(left))}\n`);
}

const server = createServer((request, response) => {
  const answer = request.url === '/chat' ? chat(request, response) : showBudget(request, response);
  answer.catch((error) =>
    response.headersSent ? response.destroy() : response.writeHead(400).end(`${error.message}\n`),
  );
});
server.listen(Number(PORT), '127.0.0.1', () => {
  const url = `http://127.0.0.1:${PORT}`;
  console.log(`try: curl -N -H 'x-user: ann' -H 'x-tenant: acme' -d '{"prompt":"tell me a story"}' ${url}/chat`);
  console.log(`     curl -H 'x-user: ann' -H 'x-tenant: acme' ${url}/budget`);
});
