import { ExpressAdapter } from '@nestjs/platform-express';
import { type NestOptions, RateLimitModule } from 'comporta/nest';
import type { StartApp } from 'comporta/testing';
import { startNest } from '../nest-app.js';

export const start: StartApp = async (options, answer) =>
  startNest(new ExpressAdapter(), RateLimitModule.forRoot(options as NestOptions), answer);
