// What is in the database may be anything: no rule asks an administrator, and rules may have
// been others before. These read values as what a view can show.

/** The children of a record by key: none of what is no record. A list has no holes. */
export const childrenOf = (value: unknown): [string, unknown][] =>
  typeof value === 'object' && value ? Object.entries(value).filter(([, child]) => child != null) : []

/** The keys of a record. */
export const keysOf = (value: unknown): string[] => childrenOf(value).map(([key]) => key)

/** The children of a record as its fields. */
export const fieldsOf = (value: unknown): Record<string, unknown> => Object.fromEntries(childrenOf(value))

/** A text, or `otherwise` for what is none. A number and a boolean are as they are written. */
export const textOf = (value: unknown, otherwise = '?'): string =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : otherwise

/** A number, or zero for what is none. */
export const numberOf = (value: unknown): number => (typeof value === 'number' ? value : 0)

const LATEST = 8.64e15 // that a Date can be

/** Milliseconds since 1970 that a Date can be, or zero. */
export const timeIn = (value: unknown): number => {
  const ms = numberOf(value)
  return Math.abs(ms) <= LATEST ? ms : 0
}
