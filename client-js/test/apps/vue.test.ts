import { deleteApp, initializeApp } from 'firebase/app'
import {
  type Database,
  deleteDatabase,
  getDatabase,
  limitToLast,
  orderByChild,
  query,
  ref,
  remove,
  set,
  update
} from 'firebase/database'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createRenderer, defineComponent, h } from 'vue'
import { useDatabaseList, useDatabaseObject, VueFire } from 'vuefire'
import { eventually } from '../support/eventually.js'
import { freshNamespace, Server } from '../support/server.js'

const soon = eventually

let server: Server
let db: Database
let firebaseApp: ReturnType<typeof initializeApp>

beforeAll(async () => {
  server = await new Server().start()
  firebaseApp = initializeApp({ databaseURL: server.url(freshNamespace()) })
  db = getDatabase(firebaseApp)
}, 120_000)
afterAll(async () => {
  deleteDatabase(db)
  await deleteApp(firebaseApp)
  await server?.stop()
})

// ---- a page without a browser

class Element {
  children: (Element | string)[] = []
  parent?: Element
  constructor(readonly tag: string) {}

  get text(): string {
    return this.children.map(child => (typeof child === 'string' ? child : child.text)).join('')
  }

  texts(tag: string): string[] {
    const below = this.children.flatMap(child => (typeof child === 'string' ? [] : child.texts(tag)))
    return this.tag === tag ? [this.text, ...below] : below
  }
}

const { createApp } = createRenderer<Element, Element>({
  createElement: tag => new Element(tag),
  createText: text => Object.assign(new Element('#text'), { children: [text] }),
  createComment: () => new Element('#comment'),
  setText: (node, text) => {
    node.children = [text]
  },
  setElementText: (node, text) => {
    node.children = [text]
  },
  insert(node, parent, anchor) {
    const at = anchor ? parent.children.indexOf(anchor) : parent.children.length
    parent.children.splice(at, 0, node)
    node.parent = parent
  },
  remove(node) {
    node.parent!.children = node.parent!.children.filter(child => child !== node)
  },
  parentNode: node => node.parent ?? null,
  nextSibling(node) {
    const { children } = node.parent!
    return (children[children.indexOf(node) + 1] as Element) ?? null
  },
  patchProp() {}
})

// ---- the app, as it is written for firebase/database

const Todos = defineComponent(() => {
  const open = useDatabaseList<{ text: string }>(query(ref(db, 'todos'), orderByChild('at'), limitToLast(3)))
  const title = useDatabaseObject<{ $value: string }>(ref(db, 'title'))
  return () =>
    h('main', [
      h('h1', title.value?.$value),
      open.value.map(todo => h('li', { key: todo.id }, todo.text)),
      h('p', open.pending.value ? 'loading' : 'ready')
    ])
})

// VueFire imports firebase/database, for which the configuration of the tests puts
// this package in.
test('VueFire runs on this client', async () => {
  const page = new Element('body')
  const app = createApp(Todos)
  app.use(VueFire, { firebaseApp })
  app.mount(page)
  await soon(() => expect(page.texts('p')).toEqual(['ready']))
  expect(page.texts('li')).toEqual([])

  await set(ref(db, 'title'), 'To do')
  await update(ref(db, 'todos'), {
    a: { text: 'water', at: 3 },
    b: { text: 'bread', at: 1 },
    c: { text: 'rest', at: 4 }
  })
  await soon(() => expect(page.texts('li')).toEqual(['bread', 'water', 'rest']))
  expect(page.texts('h1')).toEqual(['To do'])

  await set(ref(db, 'todos/d'), { text: 'sleep', at: 5 })
  await set(ref(db, 'todos/a/text'), 'more water')
  await soon(() => expect(page.texts('li')).toEqual(['more water', 'rest', 'sleep']))
  await remove(ref(db, 'todos/c'))
  await soon(() => expect(page.texts('li')).toEqual(['bread', 'more water', 'sleep']))
  app.unmount()
  expect(page.texts('li')).toEqual([])
})
