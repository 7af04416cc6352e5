// A database whose server is played by the test, on a clock that only the test moves.

import { vi } from 'vitest'
import { type Database, deleteDatabase, getDatabase } from '../../src/index.js'
import { FakeSocket } from './fake-server.js'

export function openPlayed(): Database {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] })
  vi.spyOn(Math, 'random').mockReturnValue(0.5)
  FakeSocket.all.length = 0
  return getDatabase({ databaseURL: 'http://localhost:9000?ns=demo', WebSocket: FakeSocket })
}

export function closePlayed(db: Database): void {
  deleteDatabase(db)
  vi.useRealTimers()
  vi.restoreAllMocks()
}
