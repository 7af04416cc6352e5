import { withChild, withPriority } from './change.js'
import { type Node, nodeFromJSON, type Priority, type Scalar, type ServerValue } from './node.js'

/**
 * Replaces the server values in `node` by what the server will probably make
 * of them. `before` looks up what is at a path below the write now.
 */
export function estimate(node: Node, now: number, before: (path: readonly string[]) => Node): Node {
  const resolve = <T extends Priority>(value: T, path: readonly string[]): Scalar | T => {
    const op = value !== null && typeof value === 'object' ? (value as ServerValue)['.sv'] : undefined
    if (op === undefined) return value
    if (typeof op === 'string') return now
    const old = before(path).value
    return typeof old === 'number' ? old + op.increment : op.increment
  }
  const walk = (node: Node, path: readonly string[]): Node => {
    const priority = resolve(node.priority, [...path, '.priority'])
    if (node.value !== null) {
      const value = resolve(node.value, path)
      return value === node.value && priority === node.priority ? node : nodeFromJSON(value, priority)
    }
    let result = withPriority(node, priority)
    for (const [key, child] of node.kids) {
      const resolved = walk(child, [...path, key])
      if (resolved !== child) result = withChild(result, key, resolved)
    }
    return result
  }
  return walk(node, [])
}
