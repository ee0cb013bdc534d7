// NestJS: 5 requests at once for each client, refilled at 1 per second; health checks are not counted.
// Plain JavaScript has no decorators, so they are applied by hand; docs/nest.md shows the same in TypeScript.
import 'reflect-metadata';
import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { tokenBucket } from 'comporta';
import { RateLimitModule, SkipRateLimit } from 'comporta/nest';

class Pages {
  hello() {
    return 'hello\n';
  }
  health() {
    return 'ok\n';
  }
}
const decorate = (name, ...decorators) => {
  const descriptor = Object.getOwnPropertyDescriptor(Pages.prototype, name);
  for (const decorator of decorators) decorator(Pages.prototype, name, descriptor);
};
decorate('hello', Get());
decorate('health', Get('health'), SkipRateLimit());
Controller()(Pages);

class App {}
const limits = tokenBucket({ capacity: 5, refill: 1, every: '1s' });
Module({ imports: [RateLimitModule.forRoot({ name: 'per-client', limits })], controllers: [Pages] })(App);

const port = Number(process.env.PORT ?? 3000);
const app = await NestFactory.create(App, { logger: ['error', 'warn'] });
await app.listen(port, '127.0.0.1');
console.log(`try: for i in 1 2 3 4 5 6; do curl -si http://127.0.0.1:${port}/; done`);
