const integer = /^-?0*\d{1,10}$/

// asInt returns the number that `key` sorts as, or null if it sorts as text.
function asInt(key: string): number | null {
  if (key.charCodeAt(0) > 57 || !integer.test(key)) return null
  const n = Number(key)
  return n === (n | 0) ? n : null
}

/**
 * Orders sibling keys: 32-bit integers first, by number, then all other keys
 * by UTF-16 code unit. Keys such as "7" and "07" tie as numbers; the shorter
 * one comes first.
 */
export function compareKeys(a: string, b: string): number {
  if (a === b) return 0
  const x = asInt(a)
  const y = asInt(b)
  if (x !== null) {
    if (y === null) return -1
    if (x !== y || a.length !== b.length) return x - y || a.length - b.length
  } else if (y !== null) return 1
  return a < b ? -1 : 1
}
