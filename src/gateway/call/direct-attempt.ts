import type { Payer } from '#engine/ledger/ledger.ts'
import type { Id } from '#kernel/ids.ts'
import type { Nano } from '#kernel/money.ts'
import type { Billing, Usage } from '#kernel/usage.ts'
import type { Offer } from '../model/offer.ts'
import { usedBy } from './settle.ts'
import { Metering, inputBound } from './metering.ts'
import { guessInput } from '../model/weigh.ts'
import type { Gateway } from './parts.ts'
import { scrub } from '../wire/scrub.ts'
import type { Candidate } from '../routing/router.ts'
import { raised } from '../wire/shared/least-output.ts'
import { isSimulated } from '../sim/offers.ts'
import { ChunkMeter } from '../translation/chunk-meter.ts'
import type { Way } from '../translation/translate.ts'
import type { Chunk, Loss, CanonicalRequest, UpstreamFault } from '../model/canonical-request.ts'

/** Who served a call, and what it cost. */
export interface Served {
  id: Id
  /** The platform's id of the model that served. */
  model: string
  provider: string
  endpointId: Id
  upstreamModel: string
  billing: Billing
  seed: number
  /** What the translation could not carry. */
  losses: readonly Loss[]
  /** Null until the end. */
  usage: Usage | null
  /** Null until the end, and for a model without a price. */
  cost: Nano | null
  finishReason: string | null
}

/** One candidate asked for a caller inside this process: its money held, the request sent, what came of it settled. */
export class DirectAttempt {
  readonly #gateway: Gateway
  readonly #offer: Offer
  readonly #canonical: CanonicalRequest
  readonly #way: Way
  readonly #signal: AbortSignal
  readonly #metering: Metering
  readonly #served: Served
  readonly #startedAt = performance.now()
  readonly #meter: ChunkMeter
  #firstAt: number | null = null

  constructor(
    gateway: Gateway,
    { offer }: Candidate,
    canonical: CanonicalRequest,
    way: Way,
    { signal, payer, surface }: { signal: AbortSignal; payer: Payer; surface: string },
    id: Id,
    seed: number,
  ) {
    this.#gateway = gateway
    this.#offer = offer
    this.#canonical = canonical
    this.#meter = new ChunkMeter(canonical, isSimulated(offer))
    this.#way = way
    this.#signal = signal
    this.#metering = new Metering(gateway.engine.ledger, offer, { id, payer, surface })
    const { endpoint, slug, upstreamModel } = offer
    this.#served = {
      id,
      model: slug,
      provider: endpoint.slug,
      endpointId: endpoint.id,
      upstreamModel,
      billing: endpoint.billing,
      seed,
      losses: [],
      usage: null,
      cost: null,
      finishReason: null,
    }
  }

  get served(): Served {
    return this.#served
  }

  get characters(): number {
    return this.#meter.characters
  }

  /** Answers the fault when nothing had been said yet, null when the answer is over. */
  async *run(tell: (served: Served) => void): AsyncGenerator<Chunk, UpstreamFault | null, undefined> {
    const metering = this.#metering
    const { health } = this.#gateway
    const source = await this.#source()
    let status: 'succeeded' | 'failed' | 'cancelled' = 'cancelled'
    try {
      const opening: Chunk[] = []
      for await (const chunk of source) {
        const fault = this.#meter.add(chunk)
        if (fault !== null) {
          const error = scrub(fault, this.#offer.endpoint)
          status = 'failed'
          if (this.#firstAt === null) {
            this.#gateway.engine.metrics.gateway.call(metering.call.surface, 'failed', null)
            metering.fail(performance.now() - this.#startedAt, true)
            return error
          }
          health.failed(this.#offer, error)
          // Before it is told: who hears of the error asks what the answer cost, and may not come back.
          this.#settle(status)
          yield { type: 'error', error }
          return null
        }
        // Who says no more than hello may still be replaced.
        if (this.#firstAt === null && (chunk.type === 'start' || chunk.type === 'usage')) {
          opening.push(chunk)
          continue
        }
        if (this.#firstAt === null) {
          this.#firstAt = performance.now()
          tell(this.#served)
          yield* opening
        }
        if (chunk.type === 'finish') {
          status = 'succeeded'
          this.#served.finishReason = chunk.reason
          this.#settle(status)
          health.succeeded(
            this.#offer,
            this.#firstAt - this.#startedAt,
            performance.now() - this.#startedAt,
            this.#served.usage?.output_tokens ?? 0,
          )
        }
        yield chunk
      }
      return null
    } finally {
      this.#settle(status)
      // Left before it said anything: what was read is paid for all the same.
      if (status === 'cancelled') tell(this.#served)
    }
  }

  /** Reserves, then asks. */
  async #source(): Promise<AsyncIterable<Chunk>> {
    const offer = this.#offer
    const metering = this.#metering
    const canonical = this.#canonical
    const way = this.#way
    const inputTokens = inputBound(way.body, metering.call.payer, offer.contextLength)
    let limit: number | null = null
    if (metering.guarded)
      limit = await metering.reserve({
        inputTokens,
        maxTokens: mostOf(canonical, offer),
        n: canonical.n ?? 1,
        limitField: metering.call.surface === 'inference' ? 'max_output_tokens' : null,
      })
    try {
      this.#signal.throwIfAborted()
      this.#served.losses = way.losses
      metering.sent(inputTokens, this)
      const { outbound, engine } = this.#gateway
      const net = { outbound, outside: engine.outside, party: metering.call.payer.accountId }
      return way.play(limit, net, this.#signal)
    } catch (error) {
      metering.release()
      throw error
    }
  }

  #settle(status: 'succeeded' | 'failed' | 'cancelled'): void {
    const served = this.#served
    if (served.usage !== null) return
    const firstTokenMs = this.#firstAt === null ? null : this.#firstAt - this.#startedAt
    this.#gateway.engine.metrics.gateway.call(this.#metering.call.surface, status, firstTokenMs)
    const reading = this.#meter.reading()
    const { usage, estimated } = usedBy(reading, status === 'succeeded', this.#meter.uncounted, () =>
      guessInput(this.#canonical as unknown as Record<string, unknown>),
    )
    served.usage = usage
    served.cost = this.#metering.settle({
      status,
      usage,
      reportedUsd: reading.reportedUsd,
      audio: reading.audio,
      estimated,
      finishReason: reading.finishReason,
      firstTokenMs,
      durationMs: performance.now() - this.#startedAt,
      streamed: true,
    })
  }
}

const mostOf = ({ max_output_tokens: most }: CanonicalRequest, offer: Offer): number | null =>
  most === undefined ? null : isSimulated(offer) ? most : raised(most, offer.endpoint.shape)
