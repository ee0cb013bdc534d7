'use server';

import { fixedWindow } from 'comporta';
import { limitAction } from 'comporta/next';
import { redirect } from 'next/navigation';

const limits = fixedWindow({ limit: 2, window: '1d', align: 'first-hit' });
const trustedProxies = ['loopback'];

/** A refused call throws: the nearest error boundary shows it. Only calls that fail stay counted. */
export const save = limitAction(
  async (form: FormData): Promise<void> => {
    if (form.get('text') === 'bad') throw new Error('cannot be saved');
    if (form.get('text') === 'leave') redirect('/');
  },
  { name: 'save', limits, count: 'failures', trustedProxies },
);

export interface SignIn {
  readonly message: string;
}

/** Counted per name, wherever the calls come from; a refused call returns a state like any other. */
export const signIn = limitAction(
  async (_: SignIn, form: FormData): Promise<SignIn> => {
    return { message: form.get('password') === 'right' ? 'welcome' : 'wrong password' };
  },
  {
    name: 'sign-in',
    limits,
    key: ({ request }) => request.args[1].get('name'),
    onDenied: ({ retryAfterSeconds }) => ({ message: `come back in ${retryAfterSeconds} s` }),
  },
);
