// The text of API.md: the names of firebase/database beside those of this package,
// both from their type declarations. What a name of our own is for is the first sentence
// of its comment there.

import { join } from 'node:path'
import ts from 'typescript'

const root = join(import.meta.dirname, '..')

/** What differs where both have a name, why one of theirs is not here, more about ours. */
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
  signInWithToken:
    'nothing is sent while the function is asked, since writes that need the token would be refused',
  update: 'deep paths count at once for increments and transactions'
}

interface Name {
  readonly kind: 'class' | 'function' | 'type' | 'member'
  /** The first sentence of its comment; "" if it has none. */
  readonly purpose: string
}

/**
 * The exported names of a declaration file; also those of the members of classes and
 * interfaces, as `DataSnapshot.val`.
 */
function exportsOf(program: ts.Program, file: string): Map<string, Name> {
  const checker = program.getTypeChecker()
  const module = checker.getSymbolAtLocation(program.getSourceFile(file)!)!
  const names = new Map<string, Name>()
  for (const symbol of checker.getExportsOfModule(module)) {
    if (symbol.name.startsWith('_')) continue
    const real = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
    const is = (flag: ts.SymbolFlags) => (real.flags & flag) !== 0
    const kind = is(ts.SymbolFlags.Class)
      ? 'class'
      : is(ts.SymbolFlags.Function | ts.SymbolFlags.Variable)
        ? 'function'
        : 'type'
    names.set(symbol.name, { kind, purpose: purposeOf(real, checker) })
    if (!is(ts.SymbolFlags.Class | ts.SymbolFlags.Interface)) continue
    for (const member of checker.getDeclaredTypeOfSymbol(real).getProperties()) {
      if (member.name.startsWith('_')) continue
      names.set(`${symbol.name}.${member.name}`, { kind: 'member', purpose: '' })
    }
  }
  return names
}

function purposeOf(symbol: ts.Symbol, checker: ts.TypeChecker): string {
  const comment = ts.displayPartsToString(symbol.getDocumentationComment(checker))
  const [sentence = ''] = /^.*?\.(?=\s|$)/s.exec(comment) ?? []
  return sentence.replace(/\s+/g, ' ').replace(/\.$/, '').replaceAll('|', '\\|')
}

/** What the table says about a name. A name that only one of the two has needs words. */
export function noteOf(name: string, there?: Name, here?: Name): string {
  const texts = [there ? '' : here?.purpose, notes[name]].filter(Boolean)
  if (!texts.length && !(there && here)) throw new Error(`nothing says why only one has ${name}`)
  return texts.join('; ')
}

export function table(): string {
  const files = ['node_modules/@firebase/database/dist/public.d.ts', 'dist/index.d.ts'].map(name =>
    join(root, name)
  )
  const program = ts.createProgram(files, {
    skipLibCheck: true,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    module: ts.ModuleKind.ESNext,
    lib: ['lib.es2022.d.ts'], // the declarations of a page would take most of the time
    types: []
  })
  const [theirs, ours] = files.map(file => exportsOf(program, file)) as [Map<string, Name>, Map<string, Name>]
  const rows: string[] = []
  const compare = (a: string, b: string) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1)
  for (const name of [...new Set([...theirs.keys(), ...ours.keys()])].sort(compare)) {
    const [there, here] = [theirs.get(name), ours.get(name)]
    if (!there && here?.kind === 'member') continue // is declared with its class
    rows.push(
      `| \`${name}\` | ${there?.kind ?? 'no'} | ${here?.kind ?? 'no'} | ${noteOf(name, there, here)} |`
    )
  }
  return `# The API beside that of \`firebase/database\`

Made from the type declarations of both by \`npm run parity\`: what differs where both have a
name, and what those of our own are for. Each function is documented where it is declared;
see \`dist/index.d.ts\`.

| name | \`firebase/database\` | \`@dogwood/client\` | what differs, or what it is for |
|---|---|---|---|
${rows.join('\n')}
`
}
