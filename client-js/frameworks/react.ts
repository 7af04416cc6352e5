// Hooks for React 18 and newer.

import type { Children, DataSnapshot } from '@dogwood/client'
import { useState, useSyncExternalStore } from 'react'
import { asList, asValue, type Item, type Live, LiveQuery, type Source } from './live.js'

export type { Item, Live, Source }

function useLive<T, V>(source: Source<T>, read: (snapshot: DataSnapshot<T>) => V): Live<V> {
  const [kept, keep] = useState(() => new LiveQuery(source, read))
  let live = kept
  // References are made anew by each rendering, so they are compared by what they refer to.
  if (!live.isOf(source)) {
    live = new LiveQuery(source, read)
    keep(live)
  }
  return useSyncExternalStore(live.subscribe, live.current, live.initial)
}

/** The value of a reference or query, and every change of it while the component is mounted. */
export function useValue<T = any>(source: Source<T>): Live<T | null> {
  return useLive<T, T | null>(source, asValue)
}

/** The children of a reference or query, in its order. */
export function useList<T = any>(source: Source<T>): Live<Item<Children<T>>[]> {
  return useLive<T, Item<Children<T>>[]>(source, asList)
}
