import { addAbortListener } from 'node:events'
import type { Outbound } from '#packages/http-client/outbound.ts'
import { RetrieveFailed, retrieve } from '#packages/http-client/retrieve.ts'
import type { Payer } from '#infra/ledger/ledger.ts'
import { type Id, newId } from '#core/ids.ts'
import type { Principal } from '#core/principal.ts'
import { parseForeign } from '#packages/json-scan/json-text.ts'
import { usageOf } from '#core/usage.ts'
import type { Loss, UpstreamFault } from '../model/canonical-request.ts'
import { type AnswerInProgress, type Reading, emptyReading } from '../model/in-progress.ts'
import type { Offer } from '../model/offer.ts'
import { refusalOf } from '../model/refusal.ts'
import { wellFormedJson } from '../model/well-formed.ts'
import { dispatch } from '../providers/dispatch.ts'
import { upstreamOf } from '../providers/upstream.ts'
import { choose } from '../routing/choose.ts'
import { noSuchModel } from '../routing/model-names/unknown-model.ts'
import { newSeed } from '../routing/router.ts'
import { embeddingWireOf } from '../wire/embeddings.ts'
import { fault, readFault } from '../wire/faults/faults.ts'
import type { CallMoney, CallRelay, CallRequest, HandledAttempt } from './handler.ts'
import { Call } from './call.ts'
import { liveConstraints } from './live-constraints.ts'
import type { WorstCase } from './money/metering.ts'
import type { Gateway } from '../request/gateway.ts'
import type { RequestFacts } from '../request/logged.ts'

export interface EmbedOptions {
  signal: AbortSignal
  payer: Payer
  surface: string
}

/** One vector per text, in order, each of length 1. */
export interface EmbedResult {
  model: string
  vectors: Float32Array[]
}

export type Embed = (
  principal: Principal,
  model: string,
  texts: readonly string[],
  options: EmbedOptions,
) => Promise<EmbedResult>

export const createEmbed =
  (gateway: Gateway): Embed =>
  (principal, model, texts, options) =>
    new EmbeddingCall(gateway, model, texts, options).run(principal)

const MAX_BYTES = 64 << 20
const MAX_DIMENSIONS = 16_384
const TIMEOUT_MS = 60_000

class EmbeddingCall implements CallRequest, CallMoney, CallRelay, AnswerInProgress {
  readonly gateway: Gateway
  readonly payer: Payer
  readonly surface: string
  readonly id: Id = newId()
  readonly startedAt = performance.now()
  readonly metered = true
  readonly streaming = false
  readonly conversation = null
  readonly characters = 0
  readonly #model: string
  readonly #texts: readonly string[]
  readonly #bytes: number
  readonly #signal: AbortSignal
  readonly #answered = Promise.withResolvers<EmbedResult>()
  #vectors: Float32Array[] = []

  constructor(gateway: Gateway, model: string, texts: readonly string[], { signal, payer, surface }: EmbedOptions) {
    this.gateway = gateway
    this.payer = payer
    this.surface = surface
    this.#model = model
    this.#texts = texts
    this.#bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
    this.#signal = signal
  }

  get gone(): boolean {
    return this.#signal.aborted
  }

  asked(): RequestFacts {
    return { path: null, model: this.#model, bytes: this.#bytes }
  }

  async run(principal: Principal): Promise<EmbedResult> {
    const signal = this.#signal
    const model = this.#model
    const offers = await this.gateway.directory.offers(principal, model)
    signal.throwIfAborted()
    const constraints = liveConstraints(this.gateway, this.payer, {
      summary: { tools: false, images: false, inputTokens: null, maxTokens: null },
      seed: newSeed(),
      conversation: null,
      serves: ({ endpoint }) => embeddingWireOf(endpoint.shape) !== null,
    })
    const candidates = choose([{ model, offers }], constraints, this.gateway.health, false, {
      unserved: () => noSuchModel(model, []),
      shapes: (shapes) => `\`${model}\` is served in the API format ${shapes}, which doesn’t support embeddings.`,
    })
    const call = new Call({ request: this, money: this, relay: this })
    using _leaving = addAbortListener(signal, () => {
      call.leave()
      this.#answered.reject(signal.reason)
    })
    call.start(candidates, null)
    return await this.#answered.promise
  }

  translatedFor(): null {
    return null
  }

  /** A token is at least one byte of the text. */
  inputBound(): number {
    return this.#bytes
  }

  worstCase(_: HandledAttempt, inputTokens: number): WorstCase {
    return { inputTokens, maxTokens: 0, n: 1 }
  }

  guessInput(): number {
    return Math.ceil(this.#bytes / 4)
  }

  lossesOf(): readonly Loss[] {
    return []
  }

  send(attempt: HandledAttempt): void {
    attempt.sent(this)
    this.#ask(attempt.offer)
      .catch((error: unknown) => {
        if (error instanceof RetrieveFailed) return fault(KINDS[error.why], error.message, null)
        throw error
      })
      .then((answer) => {
        if (attempt.over) return
        if ('kind' in answer) return attempt.failed(answer)
        const { vectors, tokens } = answer
        this.#vectors = vectors
        attempt.begin('', null, {})
        const usage = tokens === null ? null : usageOf({ input_tokens: tokens })
        attempt.ended({ ...emptyReading(), usage, ended: true, closed: true }, null, performance.now(), 0)
      })
      .catch((error: unknown) => {
        attempt.leave()
        this.#answered.reject(error)
      })
  }

  leave(): { reading: Reading; characters: number } {
    return { reading: emptyReading(), characters: 0 }
  }

  begin(): void {}

  ended({ offer }: HandledAttempt): void {
    this.#answered.resolve({ model: offer.slug, vectors: this.#vectors })
  }

  failed(failure: unknown): void {
    this.#answered.reject(failure instanceof Error ? failure : refusalOf(failure as UpstreamFault))
  }

  async #ask({
    endpoint,
    upstreamModel,
  }: Offer): Promise<{ vectors: Float32Array[]; tokens: number | null } | UpstreamFault> {
    const { outbound } = this.gateway
    const wire = embeddingWireOf(endpoint.shape)!
    const upstream = upstreamOf(endpoint)
    const { origin, base, headers: own, mayBePrivate, credential } = upstream
    const wrappedOutbound: Pick<Outbound, 'dispatch'> = {
      dispatch: (send, handler) => dispatch(outbound, upstream, send, { model: upstreamModel, stream: false }, handler),
    }
    const { status, headers, bytes } = await retrieve(wrappedOutbound, {
      url: new URL(`${origin}${base}${wire.path(upstreamModel)}`),
      method: 'POST',
      headers: own.filter((_, i) => own[i - (i % 2)] !== 'accept-encoding'),
      body: Buffer.from(wellFormedJson(wire.body(upstreamModel, this.#texts))),
      mayBePrivate,
      mostBytes: MAX_BYTES,
      timeoutMs: TIMEOUT_MS,
      hops: 0,
      credential,
      party: this.payer.accountId,
      signal: this.#signal,
    })
    if (status >= 300) return readFault(status, headers, bytes.toString())
    const values = 1_000 + this.#texts.length * (MAX_DIMENSIONS + 10)
    const result = wire.read(parseForeign(bytes, { values, depth: 64 }), this.#texts.length)
    if (result === null || result.vectors.some(({ length }) => length !== result.vectors[0]!.length))
      return fault('garbage', `${endpoint.slug} returned something other than embeddings.`, null)
    return { vectors: result.vectors.map(unit), tokens: result.tokens }
  }
}

const KINDS = {
  refused: 'unreachable',
  unreachable: 'unreachable',
  lost: 'unreachable',
  too_slow: 'timeout',
  too_large: 'garbage',
  garbled: 'garbage',
} as const

function unit(values: readonly number[]): Float32Array {
  const length = Math.hypot(...values) || 1
  return Float32Array.from(values, (value) => value / length)
}
