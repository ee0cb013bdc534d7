'use client';

import { refusalOf } from 'comporta/next';

export default function Failure({ error }: { readonly error: Error }) {
  const refusal = refusalOf(error);
  return (
    <p role="alert">{refusal ? `Refused: come back in ${refusal.retryAfterSeconds} s` : 'Something went wrong'}</p>
  );
}
