// What an observation is played on: a database that holds what is given, the
// clients of whoever is signed in, and an administrator who looks afterwards.

import assert from 'node:assert/strict'
import { Component } from '@firebase/component'
import { _addComponent } from 'firebase/app'
import { connectDatabaseEmulator } from 'firebase/database'
import { within } from './events.mjs'
import { scene } from './harness.mjs'
import { expected, only } from './observations-format.mjs'

/** A namespace with what is `given`, and the ways into it. */
export async function stage(t, server, given) {
  only(given, 'rules', 'data', 'auth')
  const { rules, data = null, auth = null } = given
  const s = scene(t, server)
  const self = {
    socketURL: `ws://${server.host}/.ws?v=5&ns=${s.ns}`,
    databaseURL: `${server.url}?ns=${s.ns}`,
    token: auth?.token && unsignedToken(auth.token),

    /** A client of whom is signed in. */
    client: () => signedIn(s.client(), server, auth),

    /** A client that reads and writes past the rules. */
    admin: () => signedIn(s.client(), server, 'admin'),

    /** A client behind a proxy of its own. */
    async proxied() {
      const { proxy, db } = await s.proxied()
      return { proxy, db: signedIn(db, proxy, auth) }
    },

    /** A client whose user can sign out and in again. */
    account() {
      const db = s.client()
      const account = new Account(self.token)
      _addComponent(db.app, new Component('auth-internal', () => account, 'PRIVATE'))
      return { db, account }
    },

    /** An HTTP request. Its path and body are sent as they are. */
    call: request => call(server, s.ns, { auth, ...request }),

    /** Uploads a rules text; resolves with its status and what it is refused for. */
    upload: (text, query) => upload(server, s.ns, text, query),

    /** Replaces the rules by a document, which must be accepted. */
    async install(document) {
      const { status, messages } = await self.upload(JSON.stringify(document))
      assert.equal(status, 200, messages.join('\n'))
    },

    /** Writes past the rules. */
    async put(path, value) {
      const body = JSON.stringify(value)
      const response = await self.call({ auth: 'admin', method: 'PUT', path: `${path}.json`, body })
      assert.equal(response.status, 200, await response.text())
    },

    /** Fails unless the database holds what is recorded for `after`. */
    async holds(after) {
      for (const { path, format, equals, want } of expected(after)) {
        const query = format === 'export' ? { format } : {}
        const response = await self.call({ auth: 'admin', path: `${path}.json`, query })
        const got = await response.json()
        if (!equals(got)) assert.deepEqual(got, want, `${path} afterwards`)
      }
    }
  }
  if (rules) await self.install(rules)
  if (data !== null) await self.put('/', data)
  return self
}

// signedIn makes a new client that of nobody, of a user or of an administrator.
function signedIn(db, via, who) {
  if (who === null) return db
  // Credentials that are no token are taken for an administrator's.
  const mockUserToken = who === 'admin' ? 'owner' : who.token
  connectDatabaseEmulator(db, '127.0.0.1', via.port, { mockUserToken })
  return db
}

// call makes an HTTP request. Its path and body are sent as they are.
function call(server, ns, { auth = null, method = 'GET', path, query = {}, body }) {
  const params = new URLSearchParams({ ns, ...query })
  const headers = {}
  if (auth === 'admin') headers.Authorization = 'Bearer owner'
  else if (auth) params.set('auth', unsignedToken(auth.token))
  const request = fetch(`${server.url}${path}?${params}`, { method, headers, body })
  return within(request, `answer to ${method} ${path}`)
}

async function upload(server, ns, text, query) {
  const request = { auth: 'admin', method: 'PUT', path: '/.settings/rules.json', query, body: text }
  const response = await call(server, ns, request)
  const body = await response.text()
  if (response.status === 200) {
    assert.equal(body, '{"status":"ok"}')
    return { status: 200, messages: [] }
  }
  return { status: response.status, messages: refusals(body) }
}

// refusals splits the answer to an upload. Each error is "line:column: text",
// and the text may go over several lines.
function refusals(body) {
  const { error } = JSON.parse(body)
  const messages = [...error.matchAll(/(\d+):(\d+): ([^]*?)\n(?=\d+:\d+: |$)/g)]
  assert.equal(messages.map(m => m[0]).join(''), error, 'the form of the error')
  return messages.map(m => m[3])
}

// unsignedToken makes a token as the emulator takes it.
function unsignedToken(claims) {
  const encode = value => Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${encode({ alg: 'none', typ: 'JWT' })}.${encode({ iat: 0, exp: 3600, ...claims })}.`
}

// Account stands where firebase/auth does, as far as the database client asks
// for it. Unlike mockUserToken, it lets its user leave and return.
class Account {
  #token
  #current
  #listeners = new Set()

  constructor(token) {
    this.#token = this.#current = token
  }

  signOut() {
    this.#change(null)
  }

  signIn() {
    this.#change(this.#token)
  }

  getToken = async () => this.#current && { accessToken: this.#current }
  getUid = () => null
  addAuthTokenListener = listener => void this.#listeners.add(listener)
  removeAuthTokenListener = listener => void this.#listeners.delete(listener)

  #change(token) {
    this.#current = token
    for (const listener of this.#listeners) listener(token)
  }
}
