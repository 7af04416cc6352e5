// A process to be killed: it registers onDisconnect writes, says so and waits.
// Arguments: the database URL, and the writes as the observation has them.

import { initializeApp } from 'firebase/app'
import { getDatabase } from 'firebase/database'
import { register } from './observations-client.mjs'

const [databaseURL, writes] = process.argv.slice(2)
await register(getDatabase(initializeApp({ databaseURL })), JSON.parse(writes))
process.send('registered')
