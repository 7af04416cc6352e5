import { act, createElement } from 'react'
import { useList, useObjectVal } from 'react-firebase-hooks/database'
import { create } from 'react-test-renderer'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Database, deleteDatabase, getDatabase, limitToLast, query, ref, set } from '../../src/index.js'
import { freshNamespace, Server } from '../support/server.js'

let server: Server
let db: Database

beforeAll(async () => {
  ;(globalThis as any).IS_REACT_ACT_ENVIRONMENT = true
  server = await new Server().start()
  db = getDatabase({ databaseURL: server.url(freshNamespace()) })
}, 120_000)
afterAll(async () => {
  deleteDatabase(db)
  await server?.stop()
})

function List() {
  const [snapshots, loading] = useList(query(ref(db, 'list'), limitToLast(2)))
  const [title] = useObjectVal<string>(ref(db, 'title'))
  return `${title}: ${loading ? 'loading' : snapshots!.map(snapshot => snapshot.val()).join(', ')}`
}

// react-firebase-hooks imports firebase/database, for which the configuration
// of the tests puts this package in.
test('react-firebase-hooks runs on this client', async () => {
  let view!: ReturnType<typeof create>
  await act(async () => {
    view = create(createElement(List))
  })
  expect(view.toJSON()).toBe('undefined: loading')
  await act(async () => {
    await set(ref(db, 'title'), 'List')
    await set(ref(db, 'list'), { a: 'one', b: 'two', c: 'three' })
  })
  expect(view.toJSON()).toBe('List: two, three')
  await act(() => set(ref(db, 'list/c'), null))
  expect(view.toJSON()).toBe('List: one, two')
  await act(async () => view.unmount())
})
