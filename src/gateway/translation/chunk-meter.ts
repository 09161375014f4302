import { type Usage, usageOf } from '#core/usage.ts'
import type { CanonicalRequest, Chunk, UpstreamFault } from '../model/canonical-request.ts'
import { noMedia } from '../model/cost/cost.ts'
import { type Reading, emptyReading } from '../model/in-progress.ts'
import { countInput, countWords } from '../sim/words.ts'

/** Limit for buffered answers; longer ones count as endless. */
const MAX_CHARACTERS = 32 << 20
/** A call, a citation, or the end of reasoning costs this many characters in addition to its own. */
const OF_A_PART = 256
const MAX_CALLS = 10_000
/** Tokens of one image (ai.google.dev, image generation); four characters count as a token. */
const PICTURE_TOKENS = 1_290
const OF_A_PICTURE = PICTURE_TOKENS * 4
/** Limit of images and audio, in base64: as much as one event of a stream may hold. */
const MAX_MEDIA = 64 << 20

const TOO_MANY_CALLS: UpstreamFault = {
  kind: 'garbage',
  message: `The provider returned more than ${MAX_CALLS} tool calls.`,
}

/** Aborts endless answers. */
export class ChunkMeter {
  readonly #request: CanonicalRequest
  /** Simulated models count words as tokens, so their usage is known without a report. */
  readonly #simulated: boolean
  #words = 0
  #characters = 0
  #besides = 0
  #media = 0
  #pictures = 0
  #calls = 0
  #usage: Extract<Chunk, { type: 'usage' }> | null = null
  #finish: Extract<Chunk, { type: 'finish' }> | null = null

  constructor(request: CanonicalRequest, isSimulation: boolean) {
    this.#request = request
    this.#simulated = isSimulation
  }

  /** Null: the answer continues. */
  add(chunk: Chunk): UpstreamFault | null {
    switch (chunk.type) {
      case 'text':
      case 'reasoning':
        this.#count(chunk.text)
        break
      case 'tool_call_delta':
        this.#count(chunk.delta)
        break
      case 'image':
        this.#pictures++
        this.#characters += OF_A_PICTURE
        this.#media += chunk.source.kind === 'base64' ? chunk.source.data.length : chunk.source.url.length
        break
      case 'audio':
        this.#media += chunk.data.length + OF_A_PART
        this.#count(chunk.transcript)
        break
      case 'tool_call_start':
        if (++this.#calls > MAX_CALLS) return TOO_MANY_CALLS
        this.#gather(chunk)
        break
      case 'citation':
      case 'reasoning_end':
        this.#gather(chunk)
        break
      case 'usage':
        this.#usage = chunk
        break
      case 'finish':
        this.#finish = chunk
        break
      case 'error':
        return chunk.error
      case 'start':
      case 'tool_call_end':
      case 'lost':
        break
    }
    return this.#characters + this.#besides > MAX_CHARACTERS || this.#media > MAX_MEDIA
      ? { kind: 'garbage', message: 'The provider’s response is too long.' }
      : null
  }

  get characters(): number {
    return this.#simulated ? 4 * this.#words : this.#characters
  }

  /** For an estimate, which simulated models don't need. */
  get uncounted(): number {
    return this.#simulated ? 0 : this.#characters
  }

  get finish(): Extract<Chunk, { type: 'finish' }> | null {
    return this.#finish
  }

  reading(): Reading {
    const finish = this.#finish
    const reportedUsage = this.#usage
    return {
      ...emptyReading(),
      usage: this.#used(reportedUsage?.usage ?? (this.#simulated ? this.#counted() : null)),
      ...(reportedUsage?.cost_usd !== undefined && { reportedUsd: reportedUsage.cost_usd }),
      ...(reportedUsage?.media !== undefined && { media: reportedUsage.media }),
      // A client that disconnects before the usage pays for the received images, by number or tokens.
      ...(reportedUsage === null &&
        this.#pictures > 0 && {
          pictures: this.#pictures,
          media: { ...noMedia, imageOutput: this.#pictures * PICTURE_TOKENS },
        }),
      finishReason: finish?.native ?? finish?.reason ?? null,
      ended: finish !== null,
      closed: true,
    }
  }

  #gather(part: Chunk): void {
    this.#besides += OF_A_PART
    for (const value of Object.values(part)) if (typeof value === 'string') this.#besides += value.length
  }

  #count(words: string): void {
    if (this.#simulated) this.#words += countWords(words)
    this.#characters += words.length
  }

  #used(usage: Usage | null): Usage | null {
    return usage === null || this.#pictures === 0 ? usage : usageOf({ ...usage, images: this.#pictures })
  }

  #counted(): Usage {
    return usageOf({ input_tokens: countInput(this.#request.messages), output_tokens: this.#words })
  }
}
