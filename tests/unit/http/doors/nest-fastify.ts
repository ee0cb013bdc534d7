import { FastifyAdapter } from '@nestjs/platform-fastify';
import { type NestOptions, RateLimitModule } from 'comporta/nest';
import type { StartApp } from 'comporta/testing';
import { startNest } from '../nest-app.js';

export const start: StartApp = (options, answer) => {
  const limiter = RateLimitModule.forRootAsync({ useFactory: () => options as NestOptions });
  return startNest(new FastifyAdapter({ forceCloseConnections: true }), limiter, answer);
};
