import { withChild, withPriority } from './change.js'
import { leaf, type Node } from './node.js'
import type { Path } from './path.js'
import type { Priority, ServerValue } from './scalar.js'

/**
 * Replaces the server values in `node` by what the server will probably make
 * of them. `before` looks up what is at a path below the write now.
 */
export function estimate(node: Node, now: number, before: (path: Path) => Node, path: Path = []): Node {
  const resolve = (value: Priority, path: Path): Priority => {
    const op = (value as Partial<ServerValue> | null)?.['.sv']
    if (!op) return value
    if (typeof op === 'string') return now
    const old = before(path).value
    const n = op.increment ?? op.max ?? (op.min as number)
    if (typeof old !== 'number') return n
    return 'increment' in op ? old + n : 'max' in op ? Math.max(old, n) : Math.min(old, n)
  }
  const priority = resolve(node.priority, [...path, '.priority'])
  const value = resolve(node.value, path)
  let result = value === node.value ? withPriority(node, priority) : leaf(value, priority)
  for (const [key, child] of node.kids) {
    const resolved = estimate(child, now, before, [...path, key])
    if (resolved !== child) result = withChild(result, key, resolved)
  }
  return result
}
