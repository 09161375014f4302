import { usageOf } from '#core/usage.ts'
import type { Problem } from '../../problem.ts'
import type { AnswerAbout } from '../../../model/answer-about.ts'
import { EventWriter, type Finish, type ContentChunk } from '../../streams/event-writer.ts'
import type { Json } from '../../../model/json.ts'
import { type ItemChunk, OneAtATime } from '../../streams/one-at-a-time.ts'
import { errorEvent } from './errors.ts'
import { writeFinish } from '../finish.ts'
import { emptyMessage } from './answer.ts'
import { BlockWriter } from './blocks.ts'
import { writeUsage } from '../usage.ts'

const event = (name: string, fields: Json): string =>
  `event: ${name}\ndata: ${JSON.stringify({ type: name, ...fields })}\n\n`

export const keepAlive = event('ping', {})

export class StreamWriter extends EventWriter {
  readonly #about: AnswerAbout
  readonly #requestId: string | null
  readonly #estimate: number
  readonly #order = new OneAtATime()
  readonly #blocks = new BlockWriter(event)

  /** `estimate`: input tokens shown in `message_start` while the real count is unknown. */
  constructor(about: AnswerAbout, requestId: string | null, estimate = 0) {
    super()
    this.#about = about
    this.#requestId = requestId
    this.#estimate = estimate
  }

  protected opening(): string {
    const usage = this.usage ?? usageOf({ input_tokens: this.#estimate })
    return event('message_start', { message: emptyMessage(this.#about, writeUsage(usage)) }) + keepAlive
  }

  protected say(chunk: ContentChunk): string {
    return this.begin() + this.#tell(this.#order.push(chunk))
  }

  protected closing(finish: Finish): string {
    const delta = event('message_delta', {
      delta: { ...writeFinish(finish), container: null },
      usage: writeUsage(this.usage ?? usageOf({})),
    })
    return this.#tell(this.#order.rest()) + this.#blocks.end() + delta + event('message_stop', {})
  }

  #tell(pieces: readonly ItemChunk[]): string {
    return pieces.map((piece) => this.#blocks.write(piece)).join('')
  }

  protected breaking(problem: Problem): string {
    return event('error', errorEvent(problem, this.#requestId))
  }
}
