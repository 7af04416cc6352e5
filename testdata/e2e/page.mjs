// A browser page with the browser build of npm firebase, as a <script> tag
// loads it. jsdom is the browser: it has frames, script loading, local storage
// and WebSocket, which is all that long polling and its upgrade need.

import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { JSDOM, VirtualConsole } from 'jsdom'
import { Log } from './events.mjs'

const builds = dirname(createRequire(import.meta.url).resolve('firebase/package.json'))

/**
 * Opens a page and signs its client up with the database at `url` in namespace
 * `ns`. `storage` is what an earlier visit left in the local storage.
 */
export async function openPage(t, { url, ns, storage = {}, forceLongPolling = false }) {
  const dom = new JSDOM('<!doctype html><body></body>', {
    url: 'http://localhost:5000/app.html', // another origin than the server's
    runScripts: 'dangerously',
    resources: 'usable',
    pretendToBeVisual: true, // a hidden page would delay its reconnects
    virtualConsole: new VirtualConsole() // aborted polls are no news
  })
  const { window } = dom
  for (const [key, value] of Object.entries(storage)) window.localStorage.setItem(key, value)
  for (const file of ['firebase-app-compat.js', 'firebase-database-compat.js']) {
    window.eval(await readFile(join(builds, file), 'utf8'))
  }
  const { firebase } = window
  firebase.setLogLevel('silent')
  const db = firebase.initializeApp({ databaseURL: `${url}?ns=${ns}` }).database()
  if (forceLongPolling) db.INTERNAL.forceLongPolling()
  const close = () => {
    db.goOffline()
    window.close()
  }
  t.after(close)
  return { window, db, close }
}

/** The values of a page's query. They come from another realm: copy them. */
export function pageValues(query) {
  const log = new Log()
  query.on('value', snap => log.add(plain(snap.val())), log.fail)
  return log
}

export function plain(value) {
  return structuredClone(value)
}
