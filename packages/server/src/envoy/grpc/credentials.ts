import { ServerCredentials } from '@grpc/grpc-js';

/** Texts in PEM form. */
export interface TlsTexts {
  readonly cert: string;
  readonly key: string;
  /** Clients must then show a certificate that this one signed. */
  readonly ca?: string | undefined;
}

/** TLS whose certificate can be replaced: later connections get the new one, open ones go on. */
export class TlsCredentials extends ServerCredentials {
  constructor(texts: TlsTexts) {
    const isMutual = texts.ca !== undefined;
    super({ requestCert: isMutual, rejectUnauthorized: isMutual }, { ...texts });
  }

  replace(texts: TlsTexts): void {
    this.updateSecureContextOptions({ ...texts });
  }

  _equals(other: ServerCredentials): boolean {
    return this === other;
  }
}
