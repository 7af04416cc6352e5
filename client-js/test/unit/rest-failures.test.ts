// What servers do that are in trouble, or are none, over plain HTTP.

import { createServer, type Server, type ServerResponse } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
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
  flood: response => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('event: put\ndata: ')
    const fill = () => {
      while (!response.destroyed && response.write('x'.repeat(1 << 20)));
    }
    response.on('drain', fill)
    fill()
  }
}

let server: Server
let host: string

beforeAll(async () => {
  server = createServer((request, response) => {
    answers[new URL(request.url!, 'http://x').searchParams.get('ns')!]!(response)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  host = `127.0.0.1:${(server.address() as { port: number }).port}`
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

const open = (ns: string) => rest.getDatabase(`http://${host}?ns=${ns}`)

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

test('a stream without an end of its event is left', async () => {
  const error = await new Promise(resolve => {
    rest.onValue(rest.ref(open('flood'), 'a'), () => {}, resolve)
  })
  expect(error).toMatchObject({ code: 'TOO_BIG' })
})

test('a server that says nothing is left', async () => {
  const { timeout } = AbortSignal
  AbortSignal.timeout = () => timeout.call(AbortSignal, 10)
  const error = await rest.get(rest.ref(open('silent'), 'a')).catch((error: unknown) => error)
  AbortSignal.timeout = timeout
  expect(error).toMatchObject({ code: 'UNAVAILABLE' })
})
