import { mount, NodeView, onNodeEnd, respond } from 'comporta/http';

/** An adapter of one's own: puts limits before a handler of plain `node:http`. */
export function limited(options, handler) {
  const { check } = mount(options);
  return async (request, response) => {
    const verdict = await check(request, new NodeView(request, request, request.url));
    // Before anything is answered, so that no end is missed.
    onNodeEnd(request, response, verdict.finish);
    const passes = respond(verdict, {
      isOpen: () => !(response.headersSent || response.destroyed),
      get: (name) => response.getHeader(name),
      set: (name, value) => response.setHeader(name, value),
      send: (status, body) => {
        response.statusCode = status;
        response.end(body);
      },
    });
    if (passes) handler(request, response);
  };
}
