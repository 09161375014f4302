import type { Usage } from '#core/usage.ts'
import type { TokensOfMedia } from '../../model/cost/cost.ts'
import { type Problem, problemOf } from '../problem.ts'
import type { Chunk, FinishReason } from '../../model/canonical-request.ts'

type Ending = 'start' | 'usage' | 'finish' | 'error' | 'lost'
export type ContentChunk = Exclude<Chunk, { type: Ending }>
export type Finish = Extract<Chunk, { type: 'finish' }> & { reason: Exclude<FinishReason, 'error'> }

/**
 * Finish and usage wait until `end()`, because providers send them in either order. After an `error`, or without a
 * finish, the stream ends with the shape's error: clients never get `stop` for a truncated answer.
 */
export abstract class EventWriter {
  protected usage: Usage | null = null
  /** US dollars, as the provider reports it. */
  protected reported: number | null = null
  protected media: TokensOfMedia | undefined
  protected began = false
  #finish: Extract<Chunk, { type: 'finish' }> | null = null
  #over = false

  protected abstract opening(): string
  protected abstract say(chunk: ContentChunk): string
  protected abstract closing(finish: Finish): string
  /** The last events of a truncated answer. */
  protected abstract breaking(problem: Problem): string

  write(chunk: Chunk): string {
    if (this.#over) return ''
    switch (chunk.type) {
      case 'start':
        return this.begin()
      case 'usage':
        this.usage = chunk.usage
        this.reported = chunk.cost_usd ?? null
        this.media = chunk.media
        return ''
      case 'finish':
        this.#finish = chunk
        return ''
      case 'lost':
        return ''
      case 'error':
        return this.fail(chunk.error)
      default:
        return this.say(chunk)
    }
  }

  end(): string {
    if (this.#over) return ''
    const finish = this.#finish
    if (!finish) return this.fail({ kind: 'garbage', message: 'The provider’s response ended early.' })
    if (!isWhole(finish))
      return this.fail({ kind: 'server_error', message: 'The provider failed during the response.' })
    this.#over = true
    return this.begin() + this.closing(finish)
  }

  /** Accepts an upstream fault, a refusal, or any thrown value. */
  fail(failure: unknown): string {
    if (this.#over) return ''
    this.#over = true
    return this.breaking(problemOf(failure))
  }

  protected begin(): string {
    if (this.began) return ''
    this.began = true
    return this.opening()
  }
}

const isWhole = (finish: Extract<Chunk, { type: 'finish' }>): finish is Finish => finish.reason !== 'error'
