import type { Reply } from '#core/http/exchange.ts'
import { Collector, type CollectedAnswer } from '../model/answer.ts'
import type { AnswerInProgress, AttemptListener, Reading } from '../model/in-progress.ts'
import { STALL_MS } from '../passthrough/text-passthrough.ts'
import { ChunkMeter } from './chunk-meter.ts'
import { type Json, listOf } from '../model/json.ts'
import type { AnswerStream } from '../wire/streams/answer-stream.ts'
import { lossesHeader } from './losses-header.ts'
import type { Chunk, CanonicalRequest, Loss, UpstreamFault } from '../model/canonical-request.ts'

export type Writer = { stream: AnswerStream } | { whole: (answer: CollectedAnswer) => object }

export class TranslatedResponse implements AnswerInProgress {
  readonly #attempt: AttemptListener
  readonly #response: Reply
  readonly #writer: Writer
  readonly #meter: ChunkMeter
  readonly #loses: (chunk: Chunk) => Loss | null
  /** Called before the client can refer to the items; null: nothing is stored. */
  readonly #keep: ((output: readonly Json[]) => Promise<void>) | null
  readonly #abort = new AbortController()
  /** Null: streams aren't collected. */
  readonly #collector: Collector | null
  #firstByteAt = 0
  #over = false
  readonly #lost = new Set<Loss>()
  #told = 0

  constructor(
    attempt: AttemptListener,
    response: Reply,
    writer: Writer,
    canonical: CanonicalRequest,
    isSimulation: boolean,
    keep: ((output: readonly Json[]) => Promise<void>) | null = null,
    loses: (chunk: Chunk) => Loss | null = () => null,
  ) {
    this.#loses = loses
    this.#attempt = attempt
    this.#response = response
    this.#writer = writer
    this.#meter = new ChunkMeter(canonical, isSimulation)
    this.#collector = 'whole' in writer ? new Collector() : null
    this.#keep = keep
  }

  get lost(): readonly Loss[] {
    return [...this.#lost]
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  get characters(): number {
    return this.#meter.characters
  }

  leave(): { reading: Reading; characters: number } {
    this.#stop()
    this.#abort.abort()
    return { reading: this.#meter.reading(), characters: this.#meter.uncounted }
  }

  async run(chunks: AsyncIterable<Chunk>): Promise<void> {
    // The head of a stream waits for the first content: an earlier fault can still be an error response.
    let opening = ''
    try {
      for await (const chunk of chunks) {
        if (this.#over) return
        const fault = this.#meter.add(chunk)
        if (fault !== null) return this.#fail(fault)
        this.#collector?.add(chunk)
        const loss = chunk.type === 'lost' ? chunk.name : this.#loses(chunk)
        if (loss !== null) this.#lost.add(loss)
        if (loss !== null || !('stream' in this.#writer)) continue
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
    this.#told = this.#lost.size
    this.#attempt.begin('text/event-stream; charset=utf-8', null, {})
  }

  #stop(): void {
    this.#over = true
  }

  async #end(opening: string): Promise<void> {
    this.#over = true
    const { finish } = this.#meter
    if ('stream' in this.#writer) {
      this.#begin()
      this.#stop()
      const late = this.lost.slice(this.#told)
      const note = late.length === 0 ? '' : `: x-uk-losses: ${lossesHeader(late)}\n\n`
      const last = opening + note + this.#writer.stream.end()
      if (finish !== null) await this.#keep?.(this.#writer.stream.output ?? [])
      if (this.#abort.signal.aborted) return
      this.#response.end(last)
    } else {
      if (finish === null)
        return this.#attempt.failed({ kind: 'garbage', message: 'The provider’s response ended early.' })
      this.#firstByteAt = performance.now()
      const answer = this.#writer.whole(this.#collector!.collected) as Json
      await this.#keep?.(listOf(answer['output']) as Json[])
      // A client that disconnected meanwhile was already billed.
      if (this.#abort.signal.aborted) return
      const body = Buffer.from(JSON.stringify(answer))
      this.#attempt.begin('application/json', body.length, {})
      this.#response.end(body)
    }
    this.#attempt.ended(this.#meter.reading(), null, this.#firstByteAt, this.#meter.uncounted)
  }

  #fail(why: UpstreamFault): void {
    this.#stop()
    if (this.#firstByteAt === 0) return this.#attempt.failed(why)
    if ('stream' in this.#writer) this.#response.end(this.#writer.stream.fail(why))
    this.#attempt.ended({ ...this.#meter.reading(), fault: why }, null, this.#firstByteAt, this.#meter.uncounted)
  }
}
