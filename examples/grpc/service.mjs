// A service with one method; texts as messages, so that no .proto file is needed.
const text = { write: (value) => Buffer.from(value), read: (bytes) => bytes.toString() };

export const greeter = {
  hello: {
    path: '/example.Greeter/Hello',
    requestStream: false,
    responseStream: false,
    requestSerialize: text.write,
    requestDeserialize: text.read,
    responseSerialize: text.write,
    responseDeserialize: text.read,
  },
};
