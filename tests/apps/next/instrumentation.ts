// Next calls `register` once, before the first request. From then on the socket's address is known everywhere.
export { rememberPeers as register } from 'comporta/next';
