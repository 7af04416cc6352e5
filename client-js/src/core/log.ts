let logger: ((message: string) => unknown) | undefined

/** Sets where messages go; undefined for nowhere. */
export function setLogger(to?: (message: string) => unknown): void {
  logger = to
}

export function log(what: string, text: unknown): void {
  logger?.(`${what} ${text}`)
}
