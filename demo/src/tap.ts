// Every WebSocket message of the page, sent and received, for the panel to show.

import type { SocketClass } from '@dogwood/client'
import { joiner } from '@dogwood/client/frames'
import { Signal } from './dom.js'

/** A message of the protocol. */
export interface Frame {
  readonly n: number
  readonly at: number
  readonly sent: boolean
  /** Whose connection it was. */
  readonly by: string
  readonly size: number
  readonly message: any
  /** Of a request, when it was answered: how, and after how many milliseconds. */
  status?: string
  took?: number
}

/** How many messages are kept. */
export const MOST_FRAMES = 400

class Frames {
  list: Frame[] = []
  paused = false
  /** Messages that came while paused. */
  missed = 0
  readonly changed = new Signal()
  readonly activity = new Signal()
  private count = 0
  private readonly answered = new Set<(request: any, answer: any) => void>()

  add(by: string, sent: boolean, text: string): Frame | undefined {
    const message = parse(text)
    if (message === undefined) return undefined
    const frame: Frame = { n: ++this.count, at: Date.now(), sent, by, size: text.length, message }
    if (this.paused) this.missed++
    else {
      this.list.push(frame)
      if (this.list.length > MOST_FRAMES) this.list.splice(0, this.list.length - MOST_FRAMES)
    }
    this.changed.emit()
    if (message.t === 'd') this.activity.emit()
    return frame
  }

  /** Calls `f` with each request of this page that was answered, and the answer. */
  onAnswer(f: (request: any, answer: any) => void): void {
    this.answered.add(f)
  }

  answer(request: any, answer: any): void {
    for (const f of this.answered) f(request, answer)
  }

  clear(): void {
    this.list = []
    this.missed = 0
    this.changed.emit()
  }

  pause(paused: boolean): void {
    this.paused = paused
    if (!paused) this.missed = 0
    this.changed.emit()
  }
}

export const frames = new Frames()

function parse(text: string): any {
  try {
    const message = JSON.parse(text)
    return typeof message === 'object' && message ? message : undefined
  } catch {
    return undefined // a sign of life, which is no message
  }
}

/** A WebSocket whose messages are noted. `by` says whose they are. */
export function tapped(by: string): SocketClass {
  return class extends WebSocket {
    private readonly open = new Map<number, Frame>()
    private readonly out = joiner(text => this.note(true, text))

    constructor(url: string) {
      super(url)
      const receive = joiner(text => this.note(false, text))
      this.addEventListener('message', event => receive(String(event.data)))
    }

    override send(text: string): void {
      this.out(text)
      super.send(text)
    }

    private note(sent: boolean, text: string): void {
      const frame = frames.add(by, sent, text)
      const { t, d } = frame?.message ?? {}
      if (!frame || t !== 'd' || typeof d?.r !== 'number') return
      if (sent) {
        this.open.set(d.r, frame)
        return
      }
      const request = this.open.get(d.r)
      this.open.delete(d.r)
      if (!request) return
      request.status = d.b?.s
      request.took = frame.at - request.at
      frames.answer(request.message.d, d.b)
    }
  }
}
