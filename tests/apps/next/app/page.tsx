export default function Page() {
  return <h1>A static page</h1>;
}
