// A client that is told what to do by a test in Go (server/consistency): orders
// come as lines of JSON, answers go as such lines. It ends with its input.

import { createInterface } from 'node:readline'
import { initializeApp } from 'firebase/app'
import { get, getDatabase, goOffline, goOnline, onValue, ref, runTransaction, set } from 'firebase/database'

const db = getDatabase(initializeApp({ databaseURL: process.argv[2] }))
const answer = a => console.log(JSON.stringify(a))
console.warn = () => {} // of transactions that a lost connection ends

// The SDK waits for seconds before it connects again. To go offline and online
// makes it try at once.
let connected = false
onValue(ref(db, '.info/connected'), s => { connected = s.val() })
const impatience = setInterval(() => {
  if (connected) return
  goOffline(db)
  goOnline(db)
}, 250)

const orders = {
  async get({ key }) {
    return { value: (await get(ref(db, key))).val() ?? '' }
  },

  async set({ key, tag }) {
    await set(ref(db, key), tag)
    return {}
  },

  async transaction({ key, tag }) {
    const tried = []
    try {
      await runTransaction(ref(db, key), old => {
        tried.push({ old: old ?? '', tag: `${tag}.${tried.length}` })
        return tried.at(-1).tag
      }, { applyLocally: false })
      return { tried }
    } catch (e) {
      // The SDK removes the listener of a failed transaction in a timer (Repo.ts,
      // repoRerunTransactionQueue). Until then it answers a get from the listener's view
      // (repoGetValue), which may be out of date. This timer fires after that one.
      await new Promise(done => setTimeout(done, 0))
      return { tried, error: String(e) }
    }
  },

  async listen({ key }) {
    onValue(ref(db, key), s => answer({ view: s.val() ?? {} }), e => answer({ error: String(e) }))
  },
}

for await (const line of createInterface({ input: process.stdin })) {
  const order = JSON.parse(line)
  const result = await orders[order.do](order).catch(e => ({ error: String(e) }))
  if (result) answer(result)
}
clearInterval(impatience)
process.exit(0)
