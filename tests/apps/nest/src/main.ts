// A Nest application that speaks HTTP, GraphQL, WebSocket and TCP: `node dist/main.js express|fastify TCP-PORT`.
import 'reflect-metadata';
import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo';
import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { GraphQLModule, Mutation, Query, Resolver } from '@nestjs/graphql';
import { MercuriusDriver, type MercuriusDriverConfig } from '@nestjs/mercurius';
import { ClientProxyFactory, MessagePattern, Transport } from '@nestjs/microservices';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { WsAdapter } from '@nestjs/platform-ws';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { slidingWindow } from 'comporta';
import { RateLimit, RateLimitModule, SkipRateLimit } from 'comporta/nest';
import { firstValueFrom } from 'rxjs';

const [platform, tcpPort] = process.argv.slice(2);
const tcp = { host: '127.0.0.1', port: Number(tcpPort) };
const client = ClientProxyFactory.create({ transport: Transport.TCP, options: tcp });

@Controller()
class Pages {
  @Get('hello')
  hello() {
    return 'hello';
  }

  @Get('dear')
  @RateLimit({ cost: 2 })
  dear() {
    return 'dear';
  }

  @Get('login')
  @RateLimit({ limits: slidingWindow({ limit: 1, window: '1h' }), key: ({ request }) => request.getClass().name })
  login() {
    return 'login';
  }

  /** What the microservice answers. */
  @Get('sum')
  @SkipRateLimit()
  async sum() {
    return await firstValueFrom(client.send('sum', [1, 2])).then(
      (sum: number) => ({ sum }),
      (error: object) => ({ error }),
    );
  }

  @MessagePattern('sum')
  add(numbers: number[]) {
    return numbers.reduce((sum, next) => sum + next, 0);
  }
}

@Controller('free')
@SkipRateLimit()
class Free {
  @Get()
  free() {
    return 'free';
  }
}

@Resolver()
class Queries {
  @Query(() => String)
  greeting() {
    return 'hello';
  }

  @Query(() => String)
  @SkipRateLimit()
  version() {
    return '1';
  }

  @Mutation(() => String)
  @RateLimit({ cost: 2 })
  change() {
    return 'changed';
  }
}

@WebSocketGateway({ path: '/socket' })
class Chat {
  /** A bare WebSocket does not know the request that opened it. */
  handleConnection(client: { request?: unknown }, request: unknown) {
    client.request = request;
  }

  @SubscribeMessage('chat')
  chat(_client: unknown, text: string) {
    return { event: 'chat', data: text };
  }
}

const limits = slidingWindow({ limit: 2, window: '1h' });
const graphql =
  platform === 'express'
    ? GraphQLModule.forRoot<ApolloDriverConfig>({ driver: ApolloDriver, autoSchemaFile: true })
    : GraphQLModule.forRoot<MercuriusDriverConfig>({ driver: MercuriusDriver, autoSchemaFile: true });

@Module({
  imports: [
    graphql,
    RateLimitModule.forRoot({
      policies: [
        { name: 'pages', match: { methods: ['GET'] }, limits },
        { name: 'queries', match: { path: '/graphql' }, limits },
        { name: 'chat', match: { path: '/chat' }, key: ['ip', 'header:x-team'], limits },
        { name: 'sums', match: { path: '/sum', methods: ['POST'] }, key: 'global', limits },
      ],
    }),
  ],
  controllers: [Pages, Free],
  providers: [Queries, Chat],
})
class App {}

const adapter = platform === 'express' ? new ExpressAdapter() : new FastifyAdapter();
const app = await NestFactory.create(App, adapter, { logger: ['error'] });
app.useWebSocketAdapter(new WsAdapter(app));
app.connectMicroservice({ transport: Transport.TCP, options: tcp }, { inheritAppConfig: true });
app.enableShutdownHooks();
await app.startAllMicroservices();
await app.listen(0, '127.0.0.1');
console.log(`listening: ${await app.getUrl()}`);
