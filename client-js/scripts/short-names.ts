// Shortens the names of internal members in what is published: minifiers do not
// touch property names, and there are many of them.

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { transform } from 'esbuild'
import ts from 'typescript'

const source = join(import.meta.dirname, '..', 'src')

/** Where a build notes the names that it has shortened, for the tests: to find them takes seconds. */
export const noted = join(import.meta.dirname, '..', 'test', '.cache', 'short-names.json')

/**
 * The names of class and interface members in `src` that mean nothing outside:
 * not in the public API, not used on anything that is declared elsewhere (the
 * DOM, a WebSocket, parsed JSON), not in type literals, which describe messages
 * and what is stored.
 */
export function internalNames(): string[] {
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(name =>
    name.endsWith('.ts')
  )
  const program = ts.createProgram(
    files.map(name => join(source, name)),
    {
      target: ts.ScriptTarget.ES2022,
      lib: ['lib.es2022.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
      types: ['node'],
      strict: true
    }
  )
  const checker = program.getTypeChecker()
  const members = new Set<string>()
  const others = new Set<string>()
  const isOwn = (symbol: ts.Symbol | undefined) =>
    !!symbol?.declarations?.every(declaration => declaration.getSourceFile().fileName.startsWith(source))

  const visit = (node: ts.Node): void => {
    const name = memberName(node)
    if (name) (ts.isTypeLiteralNode(node.parent) || isPublic(node) ? others : members).add(name)
    if (ts.isPropertyAccessExpression(node) && !isOwn(checker.getSymbolAtLocation(node.name)))
      others.add(node.name.text)
    if (ts.isBindingElement(node) && ts.isObjectBindingPattern(node.parent)) {
      const property = node.propertyName ?? node.name
      const type = checker.getTypeAtLocation(node.parent)
      if (ts.isIdentifier(property) && !isOwn(type.getProperty(property.text))) others.add(property.text)
    }
    if (ts.isObjectLiteralExpression(node)) {
      const type = checker.getContextualType(node)
      for (const property of node.properties) {
        if (!property.name || !ts.isIdentifier(property.name)) continue
        // Without a type to fit, the object may go anywhere.
        const expected = type?.getProperty(property.name.text)
        if (!type || (expected && !isOwn(expected))) others.add(property.name.text)
      }
    }
    node.forEachChild(visit)
  }
  for (const file of program.getSourceFiles()) if (file.fileName.startsWith(source)) visit(file)
  return [...members].filter(name => name.length > 2 && !others.has(name)).sort()
}

function memberName(node: ts.Node): string | undefined {
  const member =
    ts.isPropertySignature(node) ||
    ts.isMethodSignature(node) ||
    ts.isPropertyDeclaration(node) ||
    ts.isMethodDeclaration(node) ||
    ts.isAccessor(node) ||
    (ts.isParameter(node) && ts.isParameterPropertyDeclaration(node, node.parent))
  return member && node.name && ts.isIdentifier(node.name) ? node.name.text : undefined
}

// Members of what the API exports are public, unless they are marked internal.
function isPublic(node: ts.Node): boolean {
  let container: ts.Node = node.parent
  if (ts.isConstructorDeclaration(container)) container = container.parent
  const file = node.getSourceFile().fileName
  if (!/\/src\/(api\/\w+|rest|wilddog|persistence|core\/errors)\.ts$/.test(file)) return false
  if (!exported(container)) return false
  const internal = ts.getJSDocTags(node).some(tag => tag.tagName.text === 'internal')
  const hidden = ts.getCombinedModifierFlags(node as ts.Declaration) & ts.ModifierFlags.Private
  return !internal && !hidden
}

function exported(node: ts.Node): boolean {
  return (
    (ts.isClassDeclaration(node) || ts.isInterfaceDeclaration(node)) &&
    !!(ts.getCombinedModifierFlags(node) & ts.ModifierFlags.Export)
  )
}

/**
 * Short names, the shortest for what is used most, without regard to what a page loads
 * only if it wants to: that must not make the others larger. None is a lower-case
 * letter: those are names of the protocol.
 */
function shorten(names: readonly string[]): Record<string, string> {
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(
    name => name.endsWith('.ts') && !name.startsWith('persistence')
  )
  const words = files.flatMap(name => readFileSync(join(source, name), 'utf8').match(/(?<=\.)\w+/g) ?? [])
  const counts = new Map<string, number>()
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1)
  const byUse = [...names].sort((a, b) => (counts.get(b) ?? 0) - (counts.get(a) ?? 0))
  const capitals = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ$_']
  // Second letters that minified code has often cost the least when it is compressed.
  const all = [...capitals, ...[...'etnisoarclhdufpm'].flatMap(b => capitals.map(a => a + b))]
  return Object.fromEntries(byUse.map((name, i) => [name, all[i]!]))
}

/** A plugin for the bundler. All its chunks get the same short names. */
export function shortNames() {
  const names = internalNames()
  const cache = shorten(names)
  mkdirSync(dirname(noted), { recursive: true })
  writeFileSync(noted, JSON.stringify(names))
  return {
    name: 'short-names',
    async renderChunk(code: string, chunk: { fileName: string; moduleIds: string[] }) {
      if (!chunk.fileName.endsWith('.js') || !chunk.moduleIds.some(id => id.startsWith(source))) return null
      const mangleProps = new RegExp(`^(${names.join('|')})$`)
      const result = await transform(code, {
        mangleProps,
        mangleCache: { ...cache },
        // Fields that are only declared need no code.
        loader: 'ts',
        tsconfigRaw: { compilerOptions: { useDefineForClassFields: false } },
        target: 'es2022',
        legalComments: 'none',
        sourcemap: true,
        sourcefile: chunk.fileName
      })
      return { code: result.code, map: result.map }
    }
  }
}
