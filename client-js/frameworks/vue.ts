// Composables for Vue 3.3 and newer.

import type { Children, DataSnapshot } from '@dogwood/client'
import {
  type ComputedRef,
  computed,
  getCurrentInstance,
  getCurrentScope,
  type MaybeRefOrGetter,
  onMounted,
  onScopeDispose,
  shallowRef,
  toValue,
  watch
} from 'vue'
import { asList, asValue, type Item, type Live, LiveQuery, type Source } from './live.js'

export type { Item, Live, Source }

/** What is known of a query now, as refs. */
export interface LiveRefs<V> {
  /** The value. It is `undefined` until it has arrived, and after an error. */
  readonly value: ComputedRef<V | undefined>
  /** The value has not arrived yet. */
  readonly pending: ComputedRef<boolean>
  /** Why there is no value, such as a denial of the rules. Nothing comes after it. */
  readonly error: ComputedRef<Error | undefined>
}

function useLive<T, V>(
  source: MaybeRefOrGetter<Source<T>>,
  read: (snapshot: DataSnapshot<T>) => V
): LiveRefs<V> {
  if (!getCurrentScope()) throw new Error('useValue and useList are called in setup() or in an effectScope()')
  let live = new LiveQuery(toValue(source), read)
  const state = shallowRef(live.current())
  let stop: (() => void) | undefined
  const begin = () => {
    stop?.()
    const current = live
    const show = () => {
      state.value = current.current()
    }
    stop = current.subscribe(show)
    show()
  }
  watch(
    () => toValue(source),
    query => {
      if (live.isOf(query)) return
      live = new LiveQuery(query, read)
      state.value = live.current()
      if (stop) begin()
    },
    { flush: 'sync' }
  )
  onScopeDispose(() => stop?.())
  // A server that renders mounts nothing, and so does not listen.
  if (getCurrentInstance()) onMounted(begin)
  else begin()
  return {
    value: computed(() => state.value.value),
    pending: computed(() => state.value.pending),
    error: computed(() => state.value.error)
  }
}

/** The value of a reference or query, and every change of it while the component is mounted. */
export function useValue<T = any>(source: MaybeRefOrGetter<Source<T>>): LiveRefs<T | null> {
  return useLive<T, T | null>(source, asValue)
}

/** The children of a reference or query, in its order. */
export function useList<T = any>(source: MaybeRefOrGetter<Source<T>>): LiveRefs<Item<Children<T>>[]> {
  return useLive<T, Item<Children<T>>[]>(source, asList)
}
