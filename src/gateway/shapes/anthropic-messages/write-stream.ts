import { type Usage, usageOf } from '#kernel/usage.ts'
import { problemOf } from '../../problem.ts'
import type { Chunk } from '../../turn.ts'
import type { AnswerAbout } from '../about.ts'
import type { Json } from '../json.ts'
import { errorEvent } from './errors.ts'
import { writeFinish } from './finish.ts'
import { emptyMessage } from './write-answer.ts'
import { BlockWriter } from './write-blocks.ts'
import { writeUsage } from './usage.ts'

const event = (name: string, fields: Json): string =>
  `event: ${name}\ndata: ${JSON.stringify({ type: name, ...fields })}\n\n`

/** Keeps connections open while there is nothing to say; only after `message_start`. */
const keepAlive = event('ping', {})

/**
 * Chunks as the server-sent events of a message. Blocks come one at a time: what arrives for another meanwhile waits.
 * The last usage stands in `message_delta`, so it and the finish are held until `end()`. After an `error`, and at an end
 * without a finish, the stream breaks off with an `error` event.
 */
export class StreamWriter {
  readonly keepAlive = keepAlive
  readonly #about: AnswerAbout
  readonly #requestId: string | null
  readonly #estimate: number
  readonly #blocks = new BlockWriter(event)
  #began = false
  #over = false
  #usage: Usage | null = null
  #finish: Extract<Chunk, { type: 'finish' }> | null = null

  /** `estimate`: input tokens to show in `message_start` while the true number is not known. */
  constructor(about: AnswerAbout, requestId: string | null, estimate = 0) {
    this.#about = about
    this.#requestId = requestId
    this.#estimate = estimate
  }

  write(chunk: Chunk): string {
    if (this.#over) return ''
    switch (chunk.type) {
      case 'start':
        return this.#begin()
      case 'usage':
        this.#usage = chunk.usage
        return ''
      case 'finish':
        this.#finish = chunk
        return ''
      case 'error':
        return this.fail(chunk.error)
      default:
        return this.#begin() + this.#blocks.write(chunk)
    }
  }

  /** Nothing more comes. */
  end(): string {
    if (this.#over) return ''
    const finish = this.#finish
    if (!finish) return this.fail({ kind: 'garbage', message: 'The answer of the provider broke off.' })
    if (finish.reason === 'error')
      return this.fail({ kind: 'server_error', message: 'The provider failed while it answered.' })
    this.#over = true
    const delta = event('message_delta', {
      delta: { ...writeFinish(finish), container: null },
      usage: writeUsage(this.#usage ?? usageOf({})),
    })
    return this.#begin() + this.#blocks.end() + delta + event('message_stop', {})
  }

  /** Breaks off: an upstream fault, a refusal, or anything thrown. */
  fail(failure: unknown): string {
    if (this.#over) return ''
    this.#over = true
    return event('error', errorEvent(problemOf(failure), this.#requestId))
  }

  #begin(): string {
    if (this.#began) return ''
    this.#began = true
    const usage = this.#usage ?? usageOf({ input_tokens: this.#estimate })
    return event('message_start', { message: emptyMessage(this.#about, writeUsage(usage)) }) + keepAlive
  }
}
