import type { Node } from './node.js'
import { PRIORITY } from './order.js'
import type { Priority, Scalar } from './scalar.js'

/**
 * The hash of a node as the server computes it (protocol §8.1): "" for
 * nothing, else SHA-1 over its text, in base64.
 */
export function hashNode(node: Node): string {
  let hash = known.get(node)
  if (hash === undefined) known.set(node, (hash = compute(node)))
  return hash
}

const known = new WeakMap<Node, string>()

function compute(node: Node): string {
  if (node.empty) return ''
  let text = priorityText(node.priority)
  if (node.value !== null) text += scalarText(node.value)
  for (const [key, child] of node.ordered(PRIORITY)) text += `:${key}:${hashNode(child)}`
  return sha1(text)
}

const priorityText = (priority: Priority) => (priority === null ? '' : `priority:${scalarText(priority)}:`)

function scalarText(value: Scalar): string {
  return `${typeof value}:${typeof value === 'number' ? doubleHex(value) : value}`
}

// doubleHex returns the IEEE 754 bits, most significant digit first.
function doubleHex(n: number): string {
  const bits = new DataView(new ArrayBuffer(8))
  bits.setFloat64(0, n + 0) // -0 is not sent as such
  return bits.getBigUint64(0).toString(16).padStart(16, '0')
}

function sha1(text: string): string {
  const bytes = new TextEncoder().encode(text)
  const length = ((bytes.length + 72) >> 6) << 6
  const data = new DataView(new ArrayBuffer(length))
  bytes.forEach((byte, i) => {
    data.setUint8(i, byte)
  })
  data.setUint8(bytes.length, 128)
  data.setBigUint64(length - 8, BigInt(bytes.length) << 3n)
  const [a, b] = [0x67452301, 0xefcdab89]
  const state = [a, b, ~a, ~b, 0xc3d2e1f0]
  for (let at = 0; at < length; at += 64) addBlock(state, data, at)
  state.forEach((word, i) => {
    data.setInt32(i * 4, word)
  })
  return btoa(String.fromCharCode(...new Uint8Array(data.buffer, 0, 20)))
}

const rotate = (word: number, by: number) => (word << by) | (word >>> (32 - by))

function addBlock(state: number[], data: DataView, at: number): void {
  const words: number[] = []
  let [a, b, c, d, e] = state as [number, number, number, number, number]
  for (let i = 0; i < 80; i++) {
    words[i] =
      i < 16
        ? data.getInt32(at + i * 4)
        : rotate(words[i - 3]! ^ words[i - 8]! ^ words[i - 14]! ^ words[i - 16]!, 1)
    const round = (i / 20) | 0
    const mix = [d ^ (b & (c ^ d)), b ^ c ^ d, (b & c) | (d & (b | c)), b ^ c ^ d][round]!
    const constant = (Math.sqrt([2, 3, 5, 10][round]!) * 2 ** 30) | 0
    const next = (rotate(a, 5) + mix + e + words[i]! + constant) | 0
    e = d
    d = c
    c = rotate(b, 30)
    b = a
    a = next
  }
  ;[a, b, c, d, e].forEach((word, i) => {
    state[i] = (state[i]! + word) | 0
  })
}
