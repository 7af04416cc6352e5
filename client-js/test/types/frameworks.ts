// Checked by the compiler only: the types of the entries for React, Vue and Svelte.

import type { Readable } from 'svelte/store'
import type { ComputedRef } from 'vue'
import * as react from '../../frameworks/react.js'
import * as svelte from '../../frameworks/svelte.js'
import * as vue from '../../frameworks/vue.js'
import { type Database, ref } from '../../src/index.js'

interface Room {
  title: string
}

declare const db: Database
const room = ref<Room>(db, 'rooms/lobby')
const rooms = ref<Record<string, Room>>(db, 'rooms')

const one: string | undefined = react.useValue(room).value?.title
const all: readonly string[] | undefined = react.useList(rooms).value?.map(({ value }) => value.title)
react.useValue(null)
// @ts-expect-error a path is no query
react.useValue('rooms')
// @ts-expect-error the value may be null
react.useValue(room).value.title
// @ts-expect-error rooms have no names
react.useList(rooms).value?.map(({ value }) => value.name)

const title: ComputedRef<Room | null | undefined> = vue.useValue(() => room).value
const list: vue.Item<Room>[] | undefined = vue.useList(rooms).value.value
// @ts-expect-error a path is no query
vue.useValue(() => 'rooms')

const store: Readable<svelte.Live<Room | null>> = svelte.liveValue(room)
const stores: Readable<svelte.Live<svelte.Item<Room>[]>> = svelte.liveList(rooms)
// @ts-expect-error a path is no query
svelte.liveValue('rooms')

void [one, all, title, list, store, stores]
