// Loads every entry point that is named; the last line says how many there were.
let loaded = 0;
for (const name of process.argv.slice(2)) {
  if (Object.keys(await import(name)).length > 0) loaded++;
}
console.log(JSON.stringify({ loaded }));
