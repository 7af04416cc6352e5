// What the page knows about the sample beforehand: who may sign in, and which operations
// are worth a try. The data itself comes from the database.

import chat from './models/chat.json'
import im from './models/im.json'
import msgy from './models/msgy.json'
import org from './models/org.json'
import ownerStorage from './models/owner-storage.json'
import social from './models/social.json'

/** Somebody who can sign in. Without a `uid` it is nobody, who is signed out. */
export interface Person {
  readonly id: string
  readonly name: string
  readonly uid?: string
  readonly claims?: Record<string, unknown>
  readonly about?: string
  /** Acts as the owner of the server, to whom no rules apply. */
  readonly owner?: boolean
}

/** An operation that can be tried. Texts may hold placeholders, see `operations.ts`. */
export interface Operation {
  readonly label: string
  readonly as: string
  readonly op: 'get' | 'shallow' | 'set' | 'update' | 'push' | 'remove'
  readonly path: string
  readonly query?: Record<string, string | number | boolean>
  readonly value?: unknown
  /** What is expected of it on a fresh sample. */
  readonly expect: 'allow' | 'deny'
}

export interface Model {
  readonly title: string
  readonly about: string
  readonly people: readonly Person[]
  readonly operations: readonly Operation[]
  /** Paths of what goes on all the time, such as typing. */
  readonly quiet?: readonly string[]
}

const models = { chat, org, social, msgy, im, 'owner-storage': ownerStorage } as unknown as Record<
  string,
  Model
>

/** The name of the sample. */
export const sample = document.body.dataset.sample ?? 'chat'

/** The database that the page uses. */
export const namespace = document.body.dataset.namespace ?? sample

export const model: Model = models[sample] ?? models.chat!

/** The owner of the server, to whom no rules apply. */
export const owner: Person = { id: 'owner', name: 'Owner of the server', owner: true }

/** The name of the person with a uid, or the uid if the page does not know the person. */
export const nameOf = (uid: string): string => model.people.find(person => person.uid === uid)?.name ?? uid

export const personOf = (id: string): Person | undefined => model.people.find(person => person.id === id)
