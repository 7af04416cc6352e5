import Firebase from 'firebase'
import { GeoFire } from 'geofire'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../support/eventually.js'
import { freshNamespace, Server } from '../support/server.js'

const soon = eventually

let server: Server

beforeAll(async () => {
  server = await new Server().start()
}, 120_000)
afterAll(async () => {
  Firebase.goOffline()
  await server?.stop()
})

const ferry = [47.6026, -122.3393]
const island = [47.6249, -122.5103]
const far = [48.5343, -123.0171]

// The app is written for the classic client, `new Firebase(url)`, for which the
// configuration of the tests puts @dogwood/client/wilddog in. GeoFire 5 works with
// the references that it is given.
test('GeoFire runs on this client', async () => {
  const ref = new Firebase(`http://${server.host}/ferries?ns=${freshNamespace()}`)
  const places = new GeoFire(ref as never)
  await places.set({ walla: ferry, kitsap: island, sanjuan: far })
  expect(await places.get('kitsap')).toEqual(island)
  expect(await places.get('nowhere')).toBe(null)

  const seen: string[] = []
  const near = places.query({ center: ferry, radius: 20 })
  for (const type of ['key_entered', 'key_moved', 'key_exited']) {
    near.on(type, (key: string, _: number[], distance: number | null) =>
      seen.push(`${type} ${key} ${distance === null ? 'gone' : Math.round(distance)}`)
    )
  }
  await new Promise<void>(resolve => near.on('ready', () => resolve()))
  expect(seen.splice(0).sort()).toEqual(['key_entered kitsap 13', 'key_entered walla 0'])

  await places.set('sanjuan', [47.62, -122.4])
  await soon(() => expect(seen).toEqual(['key_entered sanjuan 5']))
  await places.set('sanjuan', [47.61, -122.35])
  await places.remove('kitsap')
  await places.set('walla', far)
  await soon(() => expect(seen).toHaveLength(4))
  expect(seen.slice(1)).toEqual(['key_moved sanjuan 1', 'key_exited kitsap gone', 'key_exited walla 115'])

  near.updateCriteria({ center: far, radius: 10 })
  await soon(() => expect(seen.slice(4).sort()).toEqual(['key_entered walla 0', 'key_exited sanjuan 114']))
  near.cancel()
})
