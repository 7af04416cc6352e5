// Which messages the server has not answered yet. The client keeps the writes themselves
// over a reload; this keeps which ones they are, for the page to mark them.

import { Signal } from '../dom.js'
import { frames } from '../tap.js'

const STORED = 'dogwood-demo-pending'

class Pending {
  readonly changed = new Signal()
  private readonly keys = new Set<string>(JSON.parse(sessionStorage.getItem(STORED) ?? '[]'))

  constructor() {
    frames.onAnswer(({ b }) => {
      const key = /^\/?messages\/[^/]+\/([^/]+)$/.exec(b?.p ?? '')?.[1]
      if (key && this.keys.delete(key)) this.save()
    })
  }

  add(key: string): void {
    this.keys.add(key)
    this.save()
  }

  has(key: string): boolean {
    return this.keys.has(key)
  }

  private save(): void {
    sessionStorage.setItem(STORED, JSON.stringify([...this.keys]))
    this.changed.emit()
  }
}

export const pending = new Pending()
