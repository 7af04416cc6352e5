// What the view knows of users and groups: each is listened to by its key, as nobody but an
// auditor may list them.

import { ref } from '@dogwood/client'
import type { Client } from '../client.js'
import { Signal } from '../dom.js'
import { model } from '../model.js'
import { fieldsOf, keysOf, textOf } from '../read.js'
import { watch } from '../watched.js'

export interface User {
  readonly id: string
  readonly name: string
  readonly groups: readonly string[]
}

export interface Group {
  readonly id: string
  readonly name: string
  readonly owner: string
  readonly members: readonly string[]
}

/** What somebody sees of a place: its value, or that the rules refuse it. */
export type Seen<T> = T | 'refused' | undefined

/** The users and groups as one client sees them. */
export class Memberships {
  readonly changed = new Signal()
  readonly users = new Map<string, Seen<User>>()
  readonly groups = new Map<string, Seen<Group>>()
  private readonly ends = new Map<string, () => void>()

  constructor(
    private readonly client: Client,
    groups: readonly string[]
  ) {
    const { db, person } = client
    for (const { uid, claims } of model.people) if (uid && !claims) this.follow('users', uid)
    for (const id of groups) this.follow('groups', id)
    if (person.claims?.admin) {
      const list = watch(ref(db, 'groups'), all => {
        for (const id of keysOf(all.val())) this.know(id)
      })
      this.ends.set('list', list)
    }
  }

  /** Also looks at a group that was not known. */
  know(id: string): void {
    if (!this.groups.has(id)) this.follow('groups', id)
  }

  /** Asks again for what was refused, as something may have changed. */
  retry(): void {
    for (const kind of ['users', 'groups'] as const) {
      for (const [id, seen] of this[kind]) if (seen === 'refused') this.follow(kind, id)
    }
  }

  /** Ends these listeners, and the connection, which is that of no other view. */
  close(): void {
    for (const end of this.ends.values()) end()
    this.client.close()
  }

  private follow(kind: 'users' | 'groups', id: string): void {
    const key = `${kind}/${id}`
    this.ends.get(key)?.()
    if (!this[kind].has(id)) this[kind].set(id, undefined)
    const end = watch(
      ref(this.client.db, key),
      snapshot => {
        const value: unknown = snapshot.val()
        if (kind === 'users') this.sawUser(id, value)
        else this.sawGroup(id, value)
        this.changed.emit()
      },
      () => {
        this[kind].set(id, 'refused')
        this.changed.emit()
      }
    )
    this.ends.set(key, end)
  }

  private sawUser(id: string, value: unknown): void {
    const { name, groups } = fieldsOf(value)
    const ids = keysOf(groups)
    this.users.set(id, value === null ? undefined : { id, name: textOf(name, id), groups: ids })
    for (const group of ids) this.know(group)
  }

  private sawGroup(id: string, value: unknown): void {
    const { name, owner, members } = fieldsOf(value)
    const group = { id, name: textOf(name, id), owner: textOf(owner), members: keysOf(members) }
    this.groups.set(id, value === null ? undefined : group)
  }
}
