import type { Reply } from '#kernel/exchange.ts'
import { usageOf } from '#kernel/usage.ts'
import { Collector, type Collected } from '../model/answer.ts'
import { type Reading, unread } from '../passthrough/formats/format.ts'
import { type AttemptListener, STALL_MS } from '../passthrough/text-passthrough.ts'
import { countInput, countWords } from '../sim/words.ts'
import { type Json, listOf } from '../model/json.ts'
import type { AnswerStream } from '../surfaces/surface.ts'
import type { Chunk, CanonicalRequest, UpstreamFault } from '../model/canonical-request.ts'

/** How the answer is written: as a stream, or at once when it is whole. */
export type Writer = { stream: AnswerStream } | { whole: (answer: Collected) => object }

/** A thinking model may say nothing for long; some proxies close what is silent for half a minute. */
const BEAT_MS = 15_000
/** An answer is gathered whole: whoever goes on beyond this does not end. */
const MOST_CHARACTERS = 32 << 20
/** A call, a citation or the end of a thought takes as much as so many characters, besides those that it has. */
const OF_A_PART = 256

/** An answer that comes as chunks and is written in the surface's own shape. */
export class TranslatedResponse {
  readonly #attempt: AttemptListener
  readonly #response: Reply
  readonly #writer: Writer
  readonly #canonical: CanonicalRequest
  /** Its words are its tokens: of an answer without usage what was used is known all the same. */
  readonly #simulated: boolean
  /** Keeps what the answer was made of, before its client can name it; null: nothing is kept. */
  readonly #keep: ((output: readonly Json[]) => Promise<void>) | null
  readonly #leaving = new AbortController()
  readonly #collector = new Collector()
  #words = 0
  #characters = 0
  /** Of what is gathered and is no words of the model's. */
  #besides = 0
  #firstByteAt = 0
  #over = false
  #beat: NodeJS.Timeout | null = null

  constructor(
    attempt: AttemptListener,
    response: Reply,
    writer: Writer,
    canonical: CanonicalRequest,
    simulated: boolean,
    keep: ((output: readonly Json[]) => Promise<void>) | null = null,
  ) {
    this.#attempt = attempt
    this.#response = response
    this.#writer = writer
    this.#canonical = canonical
    this.#simulated = simulated
    this.#keep = keep
  }

  get signal(): AbortSignal {
    return this.#leaving.signal
  }

  /** That came so far, about: a simulated model's tokens are words. */
  get characters(): number {
    return this.#simulated ? 4 * this.#words : this.#characters
  }

  leave(): { reading: Reading; characters: number } {
    this.#stop()
    this.#leaving.abort()
    return { reading: this.#reading(), characters: this.#said }
  }

  /** Plays to the end, a fault, or until the client leaves. */
  async run(chunks: AsyncIterable<Chunk>): Promise<void> {
    // What opens a stream waits for the first word: a fault before it is still an answer of its own status.
    let opening = ''
    try {
      for await (const chunk of chunks) {
        if (this.#over) return
        this.#collector.add(chunk)
        this.#count(chunk)
        if (chunk.type === 'error') return this.#fail(chunk.error)
        if (this.#characters + this.#besides > MOST_CHARACTERS)
          return this.#fail({ kind: 'garbage', message: 'The answer of the provider does not end.' })
        if (!('stream' in this.#writer)) continue
        opening += this.#writer.stream.write(chunk)
        if (opening === '' || chunk.type === 'start' || chunk.type === 'usage') continue
        await this.#send(opening)
        opening = ''
      }
    } catch (error) {
      if (this.#over) return
      this.#stop()
      throw error
    }
    if (!this.#over) await this.#end(opening)
  }

  async #send(text: string): Promise<void> {
    this.#begin()
    if (this.#response.write(text)) return
    await new Promise<void>((resolve) => {
      const stall = setTimeout(() => this.#response.destroy(), STALL_MS).unref()
      const go = (): void => {
        clearTimeout(stall)
        this.#response.off('drain', go).off('close', go)
        resolve()
      }
      this.#response.on('drain', go).on('close', go)
    })
  }

  #begin(): void {
    if (this.#firstByteAt > 0) return
    this.#firstByteAt = performance.now()
    this.#attempt.begin('text/event-stream; charset=utf-8', null, {})
    if (!('stream' in this.#writer)) return
    const { keepAlive } = this.#writer.stream
    this.#beat = setInterval(() => {
      if (!this.#response.writableNeedDrain) this.#response.write(keepAlive)
    }, BEAT_MS).unref()
  }

  #stop(): void {
    this.#over = true
    if (this.#beat !== null) clearInterval(this.#beat)
  }

  async #end(opening: string): Promise<void> {
    this.#over = true
    const { finish } = this.#collector.collected
    if ('stream' in this.#writer) {
      this.#begin()
      this.#stop()
      const last = opening + this.#writer.stream.end()
      if (finish !== null) await this.#keep?.(this.#writer.stream.output ?? [])
      if (this.#leaving.signal.aborted) return
      this.#response.end(last)
    } else {
      if (finish === null)
        return this.#attempt.failed({ kind: 'garbage', message: 'The answer of the provider broke off.' })
      this.#firstByteAt = performance.now()
      const answer = this.#writer.whole(this.#collector.collected) as Json
      await this.#keep?.(listOf(answer['output']) as Json[])
      // Whoever left meanwhile has paid for it already.
      if (this.#leaving.signal.aborted) return
      const body = Buffer.from(JSON.stringify(answer))
      this.#attempt.begin('application/json', body.length, {})
      this.#response.end(body)
    }
    this.#attempt.ended(this.#reading(), null, this.#firstByteAt, this.#said)
  }

  #fail(why: UpstreamFault): void {
    this.#stop()
    if (this.#firstByteAt === 0) return this.#attempt.failed(why)
    if ('stream' in this.#writer) this.#response.end(this.#writer.stream.fail(why))
    this.#attempt.ended({ ...this.#reading(), fault: why }, null, this.#firstByteAt, this.#said)
  }

  /** What was said, for when the end with its usage never comes. */
  #count(chunk: Chunk): void {
    const words =
      chunk.type === 'text' || chunk.type === 'reasoning'
        ? chunk.text
        : chunk.type === 'tool_call_delta'
          ? chunk.delta
          : ''
    if (this.#simulated) this.#words += countWords(words)
    else this.#characters += words.length
    if (chunk.type === 'tool_call_start' || chunk.type === 'citation' || chunk.type === 'reasoning_end') {
      this.#besides += OF_A_PART
      for (const value of Object.values(chunk)) if (typeof value === 'string') this.#besides += value.length
    }
  }

  /** For an estimate, which simulated models need none of. */
  get #said(): number {
    return this.#simulated ? 0 : this.#characters
  }

  #reading(): Reading {
    const { usage, cost_usd, audio, finish } = this.#collector.collected
    return {
      ...unread(),
      usage:
        usage ??
        (this.#simulated
          ? usageOf({ input_tokens: countInput(this.#canonical.messages), output_tokens: this.#words })
          : null),
      ...(cost_usd !== null && { reportedUsd: cost_usd }),
      ...(audio !== null && { audio }),
      finishReason: finish?.native ?? finish?.reason ?? null,
      ended: finish !== null,
      closed: true,
    }
  }
}
