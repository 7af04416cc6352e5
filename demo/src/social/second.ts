// A second client in the page: somebody else, with a connection of his own, who posts.

import { type Client, connect } from '../client.js'
import { fill, h, icon } from '../dom.js'
import { model, type Person, personOf } from '../model.js'
import { post } from './fanout.js'

const PERIOD = 4000

const SAYINGS = [
  'counted at once with what it counts',
  'one write, and it is in every home',
  'a timeline is an index by time',
  'who follows whom is in two places, always',
  'the rules saw all of it before anybody else did',
  'nothing of this was polled'
]

/** The card that starts and stops it. */
export function secondClient(user: Person): HTMLElement {
  let client: Client | undefined
  let timer: ReturnType<typeof setInterval> | undefined
  let count = 0
  const others = model.people.filter(({ uid, claims, id }) => uid && !claims && id !== user.id)
  const select = h(
    'select',
    { 'aria-label': 'Who the second client is' },
    ...others.map(one => h('option', { value: one.id }, one.name))
  )
  const button = h('button', { type: 'button' })
  const told = h('p', { class: 'entry-by', role: 'status' })

  const say = async () => {
    if (!client) return
    const text = SAYINGS[count++ % SAYINGS.length]!
    try {
      await post(client.db, client.person.uid!, text)
      told.textContent = `${client.person.name} has posted ${count} ${count > 1 ? 'times' : 'time'}.`
    } catch (error) {
      told.textContent = (error as Error).message
    }
  }
  const render = () => {
    fill(button, icon(client ? 'pause' : 'play'), client ? 'Stop' : 'Start')
    select.disabled = !!client
  }
  button.addEventListener('click', async () => {
    if (client) {
      clearInterval(timer)
      client.close()
      client = undefined
      told.textContent = ''
    } else {
      client = await connect(personOf(select.value)!)
      count = 0
      void say()
      timer = setInterval(() => void say(), PERIOD)
    }
    render()
  })
  render()
  return h(
    'section',
    { class: 'card second', 'aria-labelledby': 'second-title' },
    h('h2', { id: 'second-title' }, 'A second client'),
    h(
      'p',
      { class: 'lead' },
      'Somebody else in this page, with a connection of his own, who posts every four seconds.'
    ),
    h('div', { class: 'row' }, select, button),
    told
  )
}
