/**
 * What comporta sees of a request, whatever the framework. Adapters make one per request;
 * everything is read lazily, nothing is copied.
 */
export interface RequestView<Request = unknown> {
  readonly method: string;
  /** Path and query as the client sent them, e.g. `/a/b?x=1`. */
  readonly url: string;
  /** Template of the matched route (`/users/:id`) when the framework knows it. */
  readonly route: string | undefined;
  /** Address of the socket's peer; `undefined` for unix sockets and where the runtime hides it. */
  readonly peerAddress: string | undefined;
  /** All values of a header, in order, one per field line; the name is lower case. */
  header(name: string): readonly string[];
  /** The framework's own request, for key and cost functions. */
  readonly request: Request;
}
