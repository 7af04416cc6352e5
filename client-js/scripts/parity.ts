// The text of API.md: the names of firebase/database beside those of this package,
// both from their type declarations.

import { join } from 'node:path'
import ts from 'typescript'

const root = join(import.meta.dirname, '..')

/** Names of the other package that are not here, and why. */
const absent: Record<string, string> = {}

/** What differs where both have a name. */
const notes: Record<string, string> = {
  Database: 'also has a type parameter: the schema of the root',
  DatabaseReference: 'a class; with a type parameter for its value',
  DataSnapshot: 'with a type parameter for its value; `val()` may be null',
  EmulatorMockTokenOptions: 'any claims; `sub` or `user_id` is required',
  Query: 'a class; with a type parameter for its value',
  QueryConstraint: 'a class that is not abstract',
  enableLogging: 'logs the messages of the protocol; does not outlast the page',
  forceLongPolling: 'does nothing: there is no long polling',
  forceWebSockets: 'does nothing: there is no other transport',
  get: 'rejects with a `DogwoodError` that has a `code`',
  getDatabase: 'takes an app, options or a URL; without arguments, the database made last',
  onDisconnect: 'a plan whose answer was lost with the connection is made again',
  runTransaction: 'rejects if the update function throws; ends also when several writes came between',
  update: 'deep paths count at once for increments and transactions'
}

/**
 * The exported names of a declaration file, and of what kind each is; also those of
 * the members of classes and interfaces, as `DataSnapshot.val`.
 */
function exportsOf(file: string): Map<string, string> {
  const program = ts.createProgram([file], {
    skipLibCheck: true,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    module: ts.ModuleKind.ESNext
  })
  const checker = program.getTypeChecker()
  const module = checker.getSymbolAtLocation(program.getSourceFile(file)!)!
  const names = new Map<string, string>()
  for (const symbol of checker.getExportsOfModule(module)) {
    if (symbol.name.startsWith('_')) continue
    const real = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
    const is = (flag: ts.SymbolFlags) => (real.flags & flag) !== 0
    const kind = is(ts.SymbolFlags.Class)
      ? 'class'
      : is(ts.SymbolFlags.Function | ts.SymbolFlags.Variable)
        ? 'function'
        : 'type'
    names.set(symbol.name, kind)
    if (!is(ts.SymbolFlags.Class | ts.SymbolFlags.Interface)) continue
    for (const member of checker.getDeclaredTypeOfSymbol(real).getProperties()) {
      if (!member.name.startsWith('_')) names.set(`${symbol.name}.${member.name}`, 'member')
    }
  }
  return names
}

export function table(): string {
  const theirs = exportsOf(join(root, 'node_modules/@firebase/database/dist/public.d.ts'))
  const ours = exportsOf(join(root, 'dist/index.d.ts'))
  const rows: string[] = []
  const compare = (a: string, b: string) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1)
  for (const name of [...new Set([...theirs.keys(), ...ours.keys()])].sort(compare)) {
    const there = theirs.get(name) ?? 'no'
    if (there === 'no' && ours.get(name) === 'member') continue // is declared with its class
    const here = ours.get(name) ?? 'no'
    const note = here === 'no' ? absent[name] : there === 'no' ? '' : (notes[name] ?? '')
    if (note === undefined) throw new Error(`${name} is missing without a reason`)
    rows.push(`| \`${name}\` | ${there} | ${here} | ${note} |`)
  }
  return `# The API beside that of \`firebase/database\`

Made from the type declarations of both by \`npm run parity\`. Each function is documented
where it is declared; see \`dist/index.d.ts\`.

| name | \`firebase/database\` | \`@dogwood/client\` | what differs |
|---|---|---|---|
${rows.join('\n')}
`
}
