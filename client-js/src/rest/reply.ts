import { DogwoodError } from '../core/errors.js'
import { causeOf } from '../core/warn.js'

const QUIET = 60_000 // without a byte the server is left; streams have one every 30 s
const PACE = 16 // bytes that a request may take a millisecond for, as the server allows

/** An answer, of which the head is there. */
export class Reply {
  constructor(
    readonly head: Response,
    /** Ends the request. */
    private readonly abort = new AbortController(),
    /** Of the body, and of an event of a stream. */
    private readonly maxBytes = 2 ** 28
  ) {}

  /** The body as it comes. What is left of it when the loop ends is not read. */
  async *pieces(): AsyncGenerator<Uint8Array> {
    const { head, abort } = this
    const reader = (head.body ?? new Blob().stream()).getReader()
    try {
      for (;;) {
        const { done, value } = await patient(reader.read(), abort)
        if (done) return
        yield value
      }
    } finally {
      abort.abort()
    }
  }

  /** Throws if so many bytes are too many. */
  bound(bytes: number): void {
    if (bytes > this.maxBytes)
      throw new DogwoodError(
        'TOO_BIG',
        `TOO_BIG: the answer has more than maxBytes, which is ${this.maxBytes}`
      )
  }

  /** The whole body as text. */
  async text(): Promise<string> {
    const decoder = new TextDecoder()
    let text = ''
    let bytes = 0
    for await (const piece of this.pieces()) {
      bytes += piece.length
      this.bound(bytes)
      text += decoder.decode(piece, { stream: true })
    }
    return text
  }

  /** The whole body, decoded. */
  async json(): Promise<any> {
    const text = await this.text()
    try {
      return JSON.parse(text)
    } catch (error) {
      unavailable(error as Error)
    }
  }
}

/** Waits for the next step of a server. If nothing comes the request is ended, and fails. */
export function patient<T>(step: Promise<T>, abort: AbortController, sent = 0): Promise<T> {
  const silent = () => abort.abort(new Error('the server says nothing'))
  const timer = setTimeout(silent, QUIET + sent / PACE)
  return step.catch(unavailable).finally(() => clearTimeout(timer))
}

// unavailable is the failure of a request that has no answer, or only half of one.
function unavailable(error: Error): never {
  throw new DogwoodError('UNAVAILABLE', `UNAVAILABLE: ${causeOf(error)}`)
}
