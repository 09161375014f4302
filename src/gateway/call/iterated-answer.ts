import type { CanonicalRequest, Chunk, UpstreamFault } from '../model/canonical-request.ts'
import type { AnswerInProgress, AttemptListener, Reading } from '../model/in-progress.ts'
import { WITHDRAWN } from './attempt.ts'
import { ChunkMeter } from '../translation/chunk-meter.ts'

/**
 * Holds opening chunks until the first content (or the end, if the answer must be whole), because until then another
 * candidate can be tried.
 */
export class IteratedAnswer implements AnswerInProgress {
  readonly #attempt: AttemptListener
  readonly #whole: boolean
  readonly #meter: ChunkMeter
  readonly #abort = new AbortController()
  #source: AsyncIterator<Chunk> | null = null
  #held: Chunk[] = []
  #firstAt = 0
  #over = false
  #left = false
  #withdrawn = false

  constructor(attempt: AttemptListener, request: CanonicalRequest, isSimulation: boolean, whole: boolean) {
    this.#attempt = attempt
    this.#whole = whole
    this.#meter = new ChunkMeter(request, isSimulation)
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  get characters(): number {
    return this.#meter.characters
  }

  get finishReason(): string | null {
    return this.#meter.finish?.reason ?? null
  }

  leave(): { reading: Reading; characters: number } {
    this.#over = this.#left = true
    this.#abort.abort()
    return { reading: this.#meter.reading(), characters: this.#meter.uncounted }
  }

  withdraw(): void {
    if (this.#over || this.#withdrawn) return
    this.#withdrawn = true
    this.#abort.abort()
  }

  async open(chunks: AsyncIterable<Chunk>): Promise<void> {
    this.#source = chunks[Symbol.asyncIterator]()
    try {
      for (;;) {
        const chunk = await this.#pull()
        if (this.#over) return
        const fault = this.#faultIn(chunk)
        if (fault !== null) {
          this.#over = true
          this.#abort.abort()
          return this.#attempt.failed(fault)
        }
        this.#hold(chunk!)
        if (chunk!.type !== 'finish' && (this.#whole || OPENING.has(chunk!.type))) continue
        this.#firstAt = performance.now()
        if (chunk!.type === 'finish') this.#over = true
        this.#attempt.begin('', null, {})
        if (chunk!.type === 'finish') this.#end(null)
        return
      }
    } catch (error) {
      if (!this.#left) throw error
    }
  }

  /** The opening chunks, once. */
  takeHeld(): readonly Chunk[] {
    const held = this.#held
    this.#held = []
    return held
  }

  /** Null: the answer has ended. */
  async next(): Promise<Chunk | null> {
    if (this.#over) return null
    const chunk = await this.#pull()
    const fault = this.#faultIn(chunk)
    if (fault !== null) this.#end(fault)
    else if (chunk!.type === 'finish') this.#end(null)
    return fault === null ? chunk! : { type: 'error', error: fault }
  }

  /** Joins consecutive text: an answer may arrive letter by letter. */
  #hold(chunk: Chunk): void {
    const last = this.#held.at(-1)
    if ((chunk.type === 'text' || chunk.type === 'reasoning') && last?.type === chunk.type)
      this.#held.splice(-1, 1, { ...chunk, text: last.text + chunk.text })
    else if (chunk.type === 'tool_call_delta' && last?.type === 'tool_call_delta' && last.id === chunk.id)
      this.#held.splice(-1, 1, { ...chunk, delta: last.delta + chunk.delta })
    else this.#held.push(chunk)
  }

  async #pull(): Promise<Chunk | null> {
    try {
      const { done, value } = await this.#source!.next()
      return done ? null : value
    } catch (error) {
      if (this.#withdrawn) return null
      throw error
    }
  }

  #faultIn(chunk: Chunk | null): UpstreamFault | null {
    if (this.#withdrawn) return WITHDRAWN
    return chunk === null ? BROKEN_OFF : this.#meter.add(chunk)
  }

  #end(fault: UpstreamFault | null): void {
    this.#over = true
    const reading = this.#meter.reading()
    if (fault !== null) this.#abort.abort()
    this.#attempt.ended(fault === null ? reading : { ...reading, fault }, null, this.#firstAt, this.#meter.uncounted)
  }
}

const OPENING: ReadonlySet<Chunk['type']> = new Set(['start', 'usage', 'lost'])

const BROKEN_OFF: UpstreamFault = { kind: 'garbage', message: 'The provider’s response ended early.' }
