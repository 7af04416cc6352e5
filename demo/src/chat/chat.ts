// The view of the chat: the rooms at the left, one of them beside them.

import { get, ref } from '@dogwood/client'
import { attempt } from '../attempt.js'
import type { Client } from '../client.js'
import { fill, h, icon } from '../dom.js'
import type { View } from '../page.js'
import { Presence } from './presence.js'
import { RoomView } from './room.js'
import { type Room, Rooms } from './rooms.js'

const CHOSEN = 'dogwood-demo-room'

export const chat: View = {
  id: 'chat',
  title: 'Chat',
  make(client) {
    const rooms = new Rooms(client)
    const presence = new Presence(client)
    const stage = h('div', { class: 'stage' })
    const rail = h('nav', { class: 'rail', 'aria-label': 'Rooms' })
    const element = h('div', { class: 'chat' }, rail, stage)
    let view: RoomView | undefined
    let chosen = ''
    let member = false // of the chosen room, when the view of it was made
    let settled = 0 // rooms.settled, then

    const choose = (id: string) => {
      view?.close()
      chosen = id
      member = rooms.isMember(id)
      settled = rooms.settled
      view = undefined
      sessionStorage.setItem(CHOSEN, id)
      element.classList.toggle('in-room', !!id)
      if (id) {
        view = new RoomView(client, rooms, presence, id, () => choose(''))
        fill(stage, view.element)
      } else fill(stage, h('p', { class: 'empty' }, 'Choose a room.'))
      render()
    }
    // A member of a room that is joined elsewhere, or here, has to listen again.
    const render = () => {
      const now = rooms.isMember(chosen)
      const again = now !== member || (now && view?.refused && rooms.settled !== settled)
      if (chosen && again && rooms.find(chosen)) return choose(chosen)
      renderRail(rail, client, rooms, chosen, choose)
    }
    rooms.changed.on(() => {
      const { mine } = rooms
      if (!chosen && rooms.ready && mine.length && matchMedia('(min-width: 720px)').matches)
        choose(mine[0]!.id)
      else if (chosen && rooms.mine.length && rooms.isGone(chosen)) choose('')
      else render()
    })
    choose(sessionStorage.getItem(CHOSEN) ?? '')
    return element
  }
}

function renderRail(
  rail: HTMLElement,
  client: Client,
  rooms: Rooms,
  chosen: string,
  choose: (id: string) => void
): void {
  if (rail.querySelector('.create:focus-within')) return
  const entry = (room: Room) =>
    h(
      'li',
      null,
      h(
        'button',
        {
          type: 'button',
          class: 'room-entry',
          'data-focus': room.id,
          'aria-current': room.id === chosen ? 'true' : null,
          onclick: () => choose(room.id)
        },
        icon(room.type === 'private' ? 'lock' : 'globe'),
        h('span', { class: 'room-name' }, room.name),
        rooms.isUnread(room.id) &&
          room.id !== chosen &&
          h('span', { class: 'unread' }, h('span', { class: 'unseen' }, 'unread'))
      )
    )
  const { mine, others, refused } = rooms
  fill(
    rail,
    h('h1', { class: 'unseen' }, 'Chat'),
    h('h2', null, 'Your rooms'),
    h(
      'ul',
      null,
      ...(mine.length
        ? mine.map(entry)
        : [h('li', { class: 'empty' }, client.person.uid ? 'None yet.' : 'You are signed out.')])
    ),
    h('h2', null, 'Public rooms'),
    h(
      'ul',
      null,
      ...(others.length
        ? others.map(entry)
        : [
            h(
              'li',
              { class: 'empty' },
              refused ? 'The rules show them to nobody who is signed out.' : 'You are in all of them.'
            )
          ])
    ),
    client.person.uid && creation(rooms, choose),
    h(
      'button',
      {
        type: 'button',
        class: 'link try',
        onclick: () => void attempt(client, 'List all rooms', ['/rooms'], () => get(ref(client.db, 'rooms')))
      },
      'Try to list all rooms'
    )
  )
}

function creation(rooms: Rooms, choose: (id: string) => void): HTMLElement {
  const name = h('input', {
    type: 'text',
    required: true,
    maxlength: 80,
    placeholder: 'Name',
    'aria-label': 'Name of the new room',
    autocomplete: 'off'
  })
  const secret = h('input', { type: 'checkbox' })
  return h(
    'details',
    { class: 'create' },
    h('summary', null, icon('plus'), 'New room'),
    h(
      'form',
      {
        onsubmit: async event => {
          event.preventDefault()
          const id = await rooms.create(name.value.trim(), secret.checked ? 'private' : 'public')
          name.blur()
          if (id) choose(id)
        }
      },
      name,
      h('label', { class: 'check' }, secret, 'Private'),
      h('button', { type: 'submit', class: 'primary' }, 'Create')
    )
  )
}
