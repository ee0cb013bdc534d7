// Six calls, one after the other; the last is refused, and says when to come back.
import { credentials, makeGenericClientConstructor, status } from '@grpc/grpc-js';
import { greeter } from './service.mjs';

const Greeter = makeGenericClientConstructor(greeter, 'Greeter');
const client = new Greeter(`127.0.0.1:${process.env.PORT ?? 3000}`, credentials.createInsecure());

for (let i = 1; i <= 6; i++) {
  await new Promise((resolve) => {
    client.hello('you', (error, answer) => {
      if (error) {
        const [waitMs] = error.metadata.get('grpc-retry-pushback-ms');
        console.log(`${i}: ${status[error.code]}, come back in ${waitMs} ms: ${error.details}`);
      } else console.log(`${i}: ${answer}`);
      resolve();
    });
  });
}
client.close();
