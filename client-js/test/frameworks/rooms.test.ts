// The components of docs/frameworks.md, with the real frameworks and a real server.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { transform } from 'esbuild'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { eventually } from '../support/eventually.js'
import { document } from '../support/page.js' // before the frameworks
import { Server } from '../support/server.js'

const page = readFileSync(join(import.meta.dirname, '../../../docs/frameworks.md'), 'utf8')
const blocks = [...page.matchAll(/^```(\w+)\n([\s\S]*?)^```/gm)].map(
  ([, kind, text]) => [kind!, text!] as const
)
const cache = join(import.meta.dirname, '../.cache/frameworks')

/** A component on the page. */
interface Mounted {
  show(id: string): void
  remove(): void
}

/** A framework: how it mounts the component of its block, and how a server renders it. */
interface Framework {
  mount(target: Element, id: string): Promise<Mounted> | Mounted
  render(id: string): Promise<string> | string
  /** Shows what a server has rendered, and goes on with it. */
  hydrate(target: Element, id: string): Promise<Mounted> | Mounted
}

let server: Server

/** Loads a program in a file of its own, on the server of the tests. */
async function load(name: string, program: string): Promise<any> {
  mkdirSync(cache, { recursive: true })
  const file = join(cache, name)
  writeFileSync(file, program.replace('localhost:9000', server.host))
  return import(/* @vite-ignore */ file)
}

async function react(text: string): Promise<Framework> {
  const { createElement, StrictMode } = await import('react')
  const { flushSync } = await import('react-dom')
  const { createRoot, hydrateRoot } = await import('react-dom/client')
  const { renderToString } = await import('react-dom/server')
  const { code } = await transform(text, { loader: 'jsx', jsx: 'automatic' })
  const { default: Room } = await load('Room.js', code)
  const element = (id: string) => createElement(StrictMode, null, createElement(Room, { id }))
  const mounted = (root: { render(e: any): void; unmount(): void }) => ({
    show: (id: string) => flushSync(() => root.render(element(id))),
    remove: () => flushSync(() => root.unmount())
  })
  return {
    mount(target, id) {
      const root = createRoot(target)
      flushSync(() => root.render(element(id)))
      return mounted(root)
    },
    render: id => renderToString(element(id)),
    hydrate: (target, id) =>
      mounted(hydrateRoot(target, element(id), { onRecoverableError: error => expect.fail(String(error)) }))
  }
}

async function vue(text: string): Promise<Framework> {
  const { createApp, createSSRApp, h, shallowRef } = await import('vue')
  const { renderToString } = await import('vue/server-renderer')
  const { compileScript, parse } = await import('vue/compiler-sfc')
  const { descriptor, errors } = parse(text, { filename: 'Room.vue' })
  expect(errors).toEqual([])
  const compiled = (ssr: boolean) =>
    compileScript(descriptor, {
      id: 'room',
      inlineTemplate: true,
      templateOptions: { ssr, ssrCssVars: [] }
    }).content
  const { default: Room } = await load('Room.vue.js', compiled(false))
  const { default: Rendered } = await load('Room.vue.ssr.js', compiled(true))
  const mounted = (create: typeof createApp, target: Element, first: string) => {
    const id = shallowRef(first)
    const app = create({ render: () => h(Room, { id: id.value }) })
    app.config.warnHandler = text => expect.fail(text) // such as a page that is not as rendered
    app.mount(target)
    return { show: (next: string) => void (id.value = next), remove: () => app.unmount() }
  }
  return {
    mount: (target, id) => mounted(createApp, target, id),
    render: id => renderToString(createSSRApp({ render: () => h(Rendered, { id }) })),
    hydrate: (target, id) => mounted(createSSRApp, target, id)
  }
}

async function svelte(text: string): Promise<Framework> {
  const { compile } = await import('svelte/compiler')
  const parent =
    '<script>let { state } = $props(); import Room from "./Room.svelte.js"</script><Room id={state.id} />'
  const both = async (generate: 'client' | 'server') => {
    const of = (source: string, filename: string) =>
      compile(source, { generate, filename, dev: false }).js.code.replace(
        './Room.svelte.js',
        `./Room.svelte.${generate}.js`
      )
    await load(`Room.svelte.${generate}.js`, of(text, 'Room.svelte'))
    return (await load(`Parent.svelte.${generate}.js`, of(parent, 'Parent.svelte'))).default
  }
  const Room = await both('client')
  const Rendered = await both('server')
  // In Node, the package svelte is that for servers.
  const at = (file: string) =>
    join(import.meta.dirname, '../../node_modules/svelte/src/internal/client', file)
  const [client, { mount, hydrate, unmount }, { flushSync }] = await Promise.all(
    ['index.js', 'render.js', 'reactivity/batch.js'].map(file => import(at(file)))
  )
  const { render } = await import('svelte/server')
  const mounted = (how: typeof mount, target: Element, id: string) => {
    const state = client.proxy({ id })
    const component = how(Room, { target, props: { state } })
    flushSync()
    return {
      show: (next: string) => {
        state.id = next
        flushSync()
      },
      remove: () => void unmount(component)
    }
  }
  return {
    mount: (target, id) => mounted(mount, target, id),
    render: id => render(Rendered, { props: { state: { id } } }).body,
    hydrate: (target, id) => mounted(hydrate, target, id)
  }
}

const frameworks = { jsx: react, vue, svelte }

const rules = {
  rooms: { '.read': true },
  messages: { $room: { '.read': "$room != 'closed'" } }
}

beforeAll(async () => {
  server = await new Server().start()
  await server.rest('rooms', 'PUT', '/.settings/rules', { rules })
}, 120_000)
afterAll(() => server?.stop())

beforeEach(async () => {
  await server.rest('rooms', 'PUT', '/', {
    rooms: { lobby: { title: 'Lobby' }, attic: { title: 'Attic' } },
    messages: { lobby: { a: { text: 'one' } } }
  })
})

test('no block is left out', () => {
  expect(blocks.map(([kind]) => kind)).toEqual(Object.keys(frameworks))
})

const listens = async () => (await server.rest('rooms', 'GET', '/.settings/databases/rooms')).listens

describe.each(blocks)('%s', (kind, text) => {
  let framework: Framework
  let target: HTMLElement
  const texts = (name: string) => [...target.querySelectorAll(name)].map(found => found.textContent)

  beforeAll(async () => {
    framework = await frameworks[kind as keyof typeof frameworks](text)
  })
  beforeEach(() => {
    target = document.createElement('main')
    document.body.append(target)
  })

  test('follows a value and a list, those of another room, and nothing when it is removed', async () => {
    const room = await framework.mount(target, 'lobby')
    expect(texts('p')).toEqual(['Loading'])
    await eventually(() => expect([texts('h1'), texts('p')]).toEqual([['Lobby'], ['one']]))
    await server.rest('rooms', 'PUT', '/messages/lobby/b', { text: 'two' })
    await server.rest('rooms', 'PUT', '/rooms/lobby/title', 'Hall')
    await eventually(() => expect([texts('h1'), texts('p')]).toEqual([['Hall'], ['one', 'two']]))
    expect(await listens()).toBe(2)
    room.show('attic')
    await eventually(() => expect([texts('h1'), texts('p')]).toEqual([['Attic'], []]))
    await eventually(async () => expect(await listens()).toBe(2))
    room.remove()
    expect(target.innerHTML).not.toContain('Attic')
    await eventually(async () => expect(await listens()).toBe(0))
  })

  test('shows an error, and the next room', async () => {
    const room = await framework.mount(target, 'closed')
    await eventually(() => expect(texts('p').join()).toMatch(/permission_denied/i))
    room.show('lobby')
    await eventually(() => expect([texts('h1'), texts('p')]).toEqual([['Lobby'], ['one']]))
    room.remove()
    await eventually(async () => expect(await listens()).toBe(0))
  })

  test('is rendered by a server, which does not listen, and taken over by the page', async () => {
    const html = await framework.render('lobby')
    expect(html).toContain('Loading')
    expect(await listens()).toBe(0)
    target.innerHTML = html
    const room = await framework.hydrate(target, 'lobby')
    await eventually(() => expect([texts('h1'), texts('p')]).toEqual([['Lobby'], ['one']]))
    room.remove()
    await eventually(async () => expect(await listens()).toBe(0))
  })
})

describe('without a component', () => {
  test('Vue: an effect scope ends it, and its lack is an error', async () => {
    const { effectScope, shallowRef } = await import('vue')
    const { useValue } = await import('../../frameworks/vue.js')
    const { deleteDatabase, getDatabase, ref } = await import('../../src/index.js')
    const db = getDatabase(server.url('rooms'))
    expect(() => useValue(ref(db, 'rooms/lobby/title'))).toThrow('effectScope')
    const scope = effectScope()
    const source = shallowRef<ReturnType<typeof ref> | null>(null)
    const title = scope.run(() => useValue(source))!
    expect([title.value.value, title.pending.value]).toEqual([undefined, false])
    source.value = ref(db, 'rooms/lobby/title')
    expect(title.pending.value).toBe(true)
    await eventually(() => expect(title.value.value).toBe('Lobby'))
    source.value = null
    expect([title.value.value, title.pending.value]).toEqual([undefined, false])
    await eventually(async () => expect(await listens()).toBe(0))
    source.value = ref(db, 'rooms/attic/title')
    await eventually(() => expect(title.value.value).toBe('Attic'))
    scope.stop()
    await eventually(async () => expect(await listens()).toBe(0))
    deleteDatabase(db)
  })

  test('Svelte: subscribers of a store share what it has, and the last one ends it', async () => {
    const { liveValue } = await import('../../frameworks/svelte.js')
    const { deleteDatabase, get, getDatabase, onValue, ref } = await import('../../src/index.js')
    const db = getDatabase(server.url('rooms'))
    const title = liveValue<string>(ref(db, 'rooms/lobby/title'))
    const seen: unknown[][] = [[], []]
    const first = title.subscribe(({ value, pending }) => seen[0]!.push(pending ? 'pending' : value))
    await eventually(() => expect(seen[0]).toEqual(['pending', 'Lobby']))
    const second = title.subscribe(({ value }) => seen[1]!.push(value))
    expect(seen[1]).toEqual(['Lobby'])
    first()
    await server.rest('rooms', 'PUT', '/rooms/lobby/title', 'Hall')
    await eventually(() =>
      expect(seen).toEqual([
        ['pending', 'Lobby'],
        ['Lobby', 'Hall']
      ])
    )
    second()
    second()
    await eventually(async () => expect(await listens()).toBe(0))
    // What another listener has comes while the store subscribes.
    const other = liveValue<string>(ref(db, 'rooms/lobby/title'))
    const stop = onValue(ref(db, 'rooms/lobby/title'), () => {})
    await get(ref(db, 'rooms/lobby/title'))
    const third: unknown[] = []
    const once = other.subscribe(({ value }) => {
      third.push(value)
      if (value) once()
    })
    await new Promise(resolve => setTimeout(resolve))
    expect(third).toEqual([undefined, 'Hall'])
    stop()
    await eventually(async () => expect(await listens()).toBe(0))
    title.subscribe(() => {})()
    await new Promise(resolve => setTimeout(resolve))
    expect(await listens()).toBe(0)
    deleteDatabase(db)
  })
})
