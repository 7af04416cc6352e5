// Stores for Svelte. They have the contract of its stores and need nothing of it.

import type { Children, DataSnapshot } from '@dogwood/client'
import { asList, asValue, type Item, type Live, LiveQuery, type Source } from './live.js'

export type { Item, Live, Source }

/** A store of Svelte that can be read. */
export interface LiveStore<V> {
  subscribe(this: void, run: (state: Live<V>) => void): () => void
}

function store<T, V>(source: Source<T>, read: (snapshot: DataSnapshot<T>) => V): LiveStore<V> {
  const live = new LiveQuery(source, read)
  return {
    subscribe(run) {
      let shown = live.current()
      let stop: (() => void) | undefined
      let ended = false
      const show = () => {
        if (shown !== live.current()) run((shown = live.current()))
      }
      const begin = () => {
        if (ended) return
        stop = live.subscribe(show)
        if (ended)
          stop() // by what was called for data that was there
        else show()
      }
      run(shown)
      // A server that renders subscribes and ends that in the same turn: it does not listen.
      if (live.isFollowed) begin()
      else queueMicrotask(begin)
      return () => {
        ended = true
        stop?.()
      }
    }
  }
}

/** The value of a reference or query, and every change of it while there are subscribers. */
export function liveValue<T = any>(source: Source<T>): LiveStore<T | null> {
  return store<T, T | null>(source, asValue)
}

/** The children of a reference or query, in its order. */
export function liveList<T = any>(source: Source<T>): LiveStore<Item<Children<T>>[]> {
  return store<T, Item<Children<T>>[]>(source, asList)
}
