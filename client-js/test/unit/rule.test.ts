import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  type Database,
  deleteDatabase,
  get,
  getDatabase,
  onValue,
  ref,
  set,
  update
} from '../../src/index.js'
import { freshNamespace, Server } from '../support/server.js'

const folder = mkdtempSync(join(tmpdir(), 'client-js-'))
let server: Server
let db: Database

beforeAll(async () => {
  const rules = join(folder, 'rules.json')
  const room = { '.read': false, '.write': true, name: { '.validate': 'newData.isString()' } }
  writeFileSync(rules, JSON.stringify({ rules: { rooms: { $room: room } } }))
  server = await new Server(['--rules', rules, '--explain-denied']).start()
  db = getDatabase({ databaseURL: server.url(freshNamespace()) })
}, 120_000)
afterAll(async () => {
  deleteDatabase(db)
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
})

test('errors name the rule that refused, if the server tells', async () => {
  const read = { code: 'PERMISSION_DENIED', rule: '/rooms/$room/.read' }
  const write = { code: 'PERMISSION_DENIED', rule: '/rooms/$room/name/.validate' }
  const room = ref(db, 'rooms/a')
  await expect(new Promise((resolve, reject) => onValue(room, resolve, reject))).rejects.toMatchObject(read)
  await expect(get(room)).rejects.toMatchObject(read)
  await expect(set(ref(db, 'rooms/a/name'), 1)).rejects.toMatchObject(write)
  await expect(update(room, { name: 1 })).rejects.toMatchObject(write)
  await expect(set(ref(db, 'other'), 1)).rejects.toMatchObject({ code: 'PERMISSION_DENIED', rule: undefined })
})
