import { isDeepStrictEqual } from 'node:util'
import { type Database, onValue, type Query } from '../../src/index.js'

/** The values of a query, to be waited for. */
export function seen(_db: Database, query: Query) {
  const all: unknown[] = []
  let wake = () => {}
  const stop = onValue(query, snapshot => {
    all.push(snapshot.val())
    wake()
  })
  const until = (value: unknown) =>
    new Promise<void>((resolve, reject) => {
      const late = setTimeout(
        () => reject(new Error(`no ${JSON.stringify(value)}; seen: ${JSON.stringify(all)}`)),
        60_000
      )
      wake = () => {
        if (!isDeepStrictEqual(all.at(-1), value)) return
        clearTimeout(late)
        resolve()
      }
      wake()
    })
  return { all, until, stop }
}
