// What servers do that are in trouble, or are none, over plain HTTP.

import { createServer, type Server, type ServerResponse } from 'node:http'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import * as rest from '../../src/rest.js'

// By namespace: how the server answers.
const answers: Record<string, (response: ServerResponse) => void> = {
  broken: response => response.writeHead(500).end('{"error":{"x":1}}'),
  rubbish: response => response.writeHead(200).end('<html>'),
  redirect: response => response.writeHead(307, { location: '/a.json?ns=redirect' }).end(),
  cut: response => {
    response.writeHead(200, { 'content-length': '100' }).write('{"a":')
    setTimeout(() => response.destroy())
  },
  silent: () => {},
  begun: response => response.writeHead(200).write('[1'),
  stream: response => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('event: put\ndata: {"path":"/","data":1}\n\n')
  },
  flood: response => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('event: put\ndata: ')
    const fill = () => {
      while (!response.destroyed && response.write('x'.repeat(1 << 20)));
    }
    response.on('drain', fill)
    fill()
  },
  tls: answer => void answer.writeHead(400).end('Client sent an HTTP request to an HTTPS server.\n'),
  limit: answer =>
    void answer
      .writeHead(400)
      .end(
        '{"error": "Data to write exceeds the maximum size that can be modified with a single request.", "detail": "one write has at most 5 values"}'
      ),
  long: answer =>
    void answer
      .writeHead(400)
      .end('{"error": "Invalid data; string of 10485761 bytes exceeds the maximum of 10485760"}'),
  unindexed: answer =>
    void answer
      .writeHead(400)
      .end('{"error": "Index not defined, add \\".indexOn\\": \\"at\\", for path \\"/a\\", to the rules"}'),
  busy: answer => void answer.writeHead(503).end('{"error": "The service is temporarily unavailable."}')
}

let server: Server
let host: string
let response: ServerResponse // to the last request

beforeAll(async () => {
  server = createServer((request, answer) => {
    response = answer
    answers[new URL(request.url!, 'http://x').searchParams.get('ns')!]!(response)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  host = `127.0.0.1:${(server.address() as { port: number }).port}`
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

const open = (ns: string, maxBytes?: number) =>
  rest.getDatabase({ databaseURL: `http://${host}?ns=${ns}`, maxBytes })

for (const ns of ['broken', 'rubbish', 'redirect', 'cut']) {
  test(`all failures have a code: ${ns}`, async () => {
    const at = rest.ref(open(ns), 'a')
    const calls = [() => rest.get(at), () => rest.runTransaction(at, () => 1)]
    for (const call of calls) {
      const error = await (call() as Promise<unknown>).catch((error: unknown) => error)
      expect(error).toBeInstanceOf(rest.DogwoodError)
      expect(error).toMatchObject({ code: 'UNAVAILABLE' })
      expect((error as Error).message).not.toContain('[object')
    }
  })
}

test('a wrong scheme is answered with the right one', async () => {
  const secure = rest.getDatabase({ databaseURL: `https://${host}?ns=broken` })
  for (const [db, hint] of [
    [secure, 'it does not speak TLS; use http://'],
    [open('tls'), 'it speaks TLS; use https://']
  ] as const)
    await expect(rest.get(rest.ref(db, 'a'))).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: `UNAVAILABLE: ${hint}`
    })
})

test('the limit that a write exceeds is named', async () => {
  await expect(rest.set(rest.ref(open('limit'), 'a'), 1)).rejects.toMatchObject({
    code: 'TOO_BIG',
    message:
      'TOO_BIG: Data to write exceeds the maximum size that can be modified with a single request. (one write has at most 5 values) (set /a)'
  })
})

test('a refusal has the code that it has over a connection', async () => {
  await expect(rest.set(rest.ref(open('long'), 'a'), 'x')).rejects.toMatchObject({ code: 'TOO_BIG' })
  const query = rest.query(rest.ref(open('unindexed'), 'a'), rest.orderByChild('at'))
  await expect(rest.get(query)).rejects.toMatchObject({ code: 'FAILED' })
})

describe('a stream that does not begin', () => {
  let warned: string[]

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    warned = []
    vi.spyOn(console, 'warn').mockImplementation(text => void warned.push(text))
  })
  afterEach(() => {
    vi.useRealTimers()
    vi.restoreAllMocks()
  })

  // onLate listens twice, and returns after five seconds. The first requests have ended by then.
  async function onLate(url: string, ended: number): Promise<void> {
    const real = globalThis.fetch
    let count = 0
    const spy = vi.spyOn(globalThis, 'fetch').mockImplementation(async (...args) => {
      try {
        return await real(...args)
      } finally {
        count++
      }
    })
    const db = rest.getDatabase(url)
    const stops = [rest.onValue(rest.ref(db, 'a'), () => {}), rest.onValue(rest.ref(db, 'b'), () => {})]
    await vi.waitFor(() => expect(count).toBeGreaterThanOrEqual(ended))
    await vi.advanceTimersByTimeAsync(5000)
    for (const stop of stops) stop()
    spy.mockRestore()
  }

  test('is warned of once, with the address', async () => {
    await onLate(`http://${host}?ns=silent`, 0)
    expect(warned).toEqual([`dogwood: no connection to http://${host} yet: it does not answer`])
  })

  test('is warned of with the cause', async () => {
    await onLate('http://127.0.0.1:1', 2)
    expect(warned).toHaveLength(1)
    expect(warned[0]).toMatch(/^dogwood: no connection to http:\/\/127.0.0.1:1 yet: .*/)
    expect(warned[0]).not.toContain('it does not answer')
  })

  test('over TLS to a plain server is warned of with a hint', async () => {
    await onLate(`https://${host}?ns=silent`, 2)
    expect(warned).toEqual([
      `dogwood: no connection to https://${host} yet: it does not speak TLS; use http://`
    ])
  })

  test('is not warned of when it has begun', async () => {
    const db = open('stream')
    let stop = () => {}
    await new Promise<void>(resolve => {
      stop = rest.onValue(rest.ref(db, 'a'), () => resolve())
    })
    await vi.advanceTimersByTimeAsync(6000)
    stop()
    expect(warned).toEqual([])
  })
})

test('a stream without an end of its event is left', async () => {
  const error = await new Promise(resolve => {
    rest.onValue(rest.ref(open('flood', 1 << 20), 'a'), () => {}, resolve)
  })
  expect(error).toMatchObject({ code: 'TOO_BIG' })
})

test('an answer that is too big is not read to its end', async () => {
  const at = rest.ref(open('flood', 1 << 20), 'a')
  const message = 'TOO_BIG: the answer has more than maxBytes, which is 1048576'
  await expect(rest.get(at)).rejects.toMatchObject({ code: 'TOO_BIG', message })
  await expect.poll(() => response.destroyed).toBe(true)
})

describe('a server that says nothing', () => {
  const unavailable = { code: 'UNAVAILABLE', message: expect.stringContaining('says nothing') }

  /** What the client waits for: the head of an answer, a piece, another one. */
  interface Wait {
    readonly time: number
    readonly giveUp: () => void
    over?: boolean
  }
  let waits: Wait[]

  beforeEach(() => {
    waits = []
    const { setTimeout, clearTimeout } = globalThis
    vi.spyOn(globalThis, 'setTimeout').mockImplementation(((f: () => void, time = 0) => {
      if (time < 60_000) return setTimeout(f, time)
      const wait: Wait = { time, giveUp: f }
      waits.push(wait)
      return wait
    }) as any)
    vi.spyOn(globalThis, 'clearTimeout').mockImplementation((timer: any) => {
      const wait = waits.find(wait => wait === timer)
      if (wait) wait.over = true
      else clearTimeout(timer)
    })
  })
  afterEach(() => {
    vi.restoreAllMocks()
  })

  const waiting = async (n: number): Promise<Wait> => {
    await expect
      .poll(() => waits.map(({ over = false }) => over))
      .toEqual([...Array(n - 1).fill(true), false])
    return waits[n - 1]!
  }

  test('is left', async () => {
    const result = expect(rest.get(rest.ref(open('silent'), 'a'))).rejects.toMatchObject(unavailable)
    const { time, giveUp } = await waiting(1)
    expect(time).toBe(60_000)
    giveUp()
    await result
    await expect.poll(() => response.destroyed).toBe(true)
  })

  test('is left in the middle of an answer', async () => {
    const result = expect(rest.get(rest.ref(open('begun'), 'a'))).rejects.toMatchObject(unavailable)
    const { giveUp } = await waiting(3)
    giveUp()
    await result
    await expect.poll(() => response.destroyed).toBe(true)
  })

  test('has all the time it needs as long as it goes on', async () => {
    const result = rest.get(rest.ref(open('begun'), 'a'))
    for (const n of [3, 4, 5]) {
      await waiting(n)
      response.write(`,${n}`)
    }
    await waiting(6)
    response.end(']')
    expect((await result).val()).toEqual([1, 3, 4, 5])
    expect(waits.every(({ over }) => over)).toBe(true)
  })

  test('has more time for what it has to read first', async () => {
    const result = rest.set(rest.ref(open('silent'), 'a'), 'x'.repeat(16_000 - 2)) // two quotes
    const { time, giveUp } = await waiting(1)
    expect(time).toBe(61_000)
    giveUp()
    await expect(result).rejects.toMatchObject(unavailable)
  })

  test('is asked again for a stream', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    const seen: unknown[] = []
    const stop = rest.onValue(rest.ref(open('stream'), 'a'), snapshot => void seen.push(snapshot.val()))
    const { giveUp } = await waiting(3)
    giveUp()
    await expect.poll(() => seen).toEqual([1, 1])
    stop()
    await expect.poll(() => response.destroyed).toBe(true)
  })
})

describe('a callback that throws', () => {
  let reported: unknown[]

  beforeEach(() => {
    reported = []
    const { setTimeout } = globalThis
    vi.spyOn(globalThis, 'setTimeout').mockImplementation(((f: () => void, ms?: number) =>
      setTimeout(() => {
        try {
          f()
        } catch (error) {
          reported.push(error)
        }
      }, ms)) as any)
  })
  afterEach(() => {
    vi.restoreAllMocks()
  })

  const mistakes = [new TypeError('mine'), new rest.DogwoodError('MINE', 'mine')]
  const listens: Record<string, (...all: any[]) => any> = {
    onValue: rest.onValue,
    onChanges: rest.onChanges
  }
  test.each(Object.keys(listens).flatMap(name => mistakes.map(error => [name, error] as const)))(
    'is reported, and %s goes on: %s',
    async (name, error) => {
      let asked = 0
      answers.counted = answer => {
        asked++
        answer.setHeader('x-dogwood-extensions', 'changes')
        answers.stream!(answer)
      }
      const seen: unknown[] = []
      const cancelled: unknown[] = []
      const next = (snapshot: rest.DataSnapshot) => {
        if (seen.push(snapshot.val()) === 1) throw error
      }
      const stop = await listens[name]!(rest.ref(open('counted'), 'a'), next, (error: Error) =>
        cancelled.push(error)
      )
      await expect.poll(() => seen).toEqual([1])
      response.write('event: put\ndata: {"path":"/","data":2}\n\n')
      await expect.poll(() => seen).toEqual([1, 2])
      stop()
      expect([reported, cancelled, asked]).toEqual([[error], [], 1])
    }
  )
})

test('notices of a stream that is opened again begin with one of all', async () => {
  vi.spyOn(Math, 'random').mockReturnValue(0)
  const ids: unknown[] = []
  answers.noted = answer => {
    ids.push(answer.req.headers['last-event-id'])
    answer.setHeader('content-type', 'text/event-stream')
    answer.setHeader('x-dogwood-extensions', 'notify')
    const first =
      ids.length === 1 ? 'keep-alive\ndata: null' : 'notify\ndata: {"revision":7,"children":[],"all":true}'
    answer.write(`event: ${first}\n\n`)
    if (ids.length === 1) answer.end('event: notify\ndata: {"revision":3,"children":["a"],"all":false}\n\n')
  }
  const seen: rest.Notice[] = []
  const stop = await rest.onNotices(rest.ref(open('noted'), 'a'), notice => void seen.push(notice))
  await expect.poll(() => seen.length).toBe(2)
  stop()
  expect(ids).toEqual([undefined, 'again'])
  expect(seen).toEqual([
    { revision: 3, children: ['a'], all: false },
    { revision: 7, children: [], all: true }
  ])
  vi.restoreAllMocks()
})

test('a connection is used for one request after the other', async () => {
  const sockets = new Set()
  answers.whole = answer => {
    sockets.add(answer.socket)
    answer.writeHead(200).end('1')
  }
  const at = rest.ref(open('whole'), 'a')
  for (let i = 0; i < 6; i++) await rest.get(at)
  expect(sockets.size).toBeLessThan(4) // the runtime may open a second one
})
