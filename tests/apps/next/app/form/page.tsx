import { save } from '../actions';
import { SignInForm } from './sign-in';

export default function Page() {
  return (
    <>
      <form action={save} id="save">
        <input name="text" />
        <button type="submit">Save</button>
      </form>
      <SignInForm />
    </>
  );
}
