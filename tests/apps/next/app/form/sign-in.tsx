'use client';

import { useActionState } from 'react';
import { signIn } from '../actions';

export function SignInForm() {
  const [{ message }, submit] = useActionState(signIn, { message: '' });
  return (
    <form action={submit} id="sign-in">
      <input name="name" />
      <input name="password" type="password" />
      <button type="submit">Sign in</button>
      <output>{message}</output>
    </form>
  );
}
