import type { IncomingHttpHeaders } from 'node:http'
import type { Send } from '#engine/http-client/send.ts'
import { refuse } from '#kernel/errors.ts'
import type { Id } from '#kernel/ids.ts'
import type { Nano } from '#kernel/money.ts'
import { locate } from '../model/body.ts'
import { dispatch } from '../providers/transport/dispatch.ts'
import { guardPrice } from './price-guard.ts'
import type { Reading } from '../model/in-progress.ts'
import type { Offer } from '../model/offer.ts'
import type { AnswerInProgress, AttemptListener } from '../model/in-progress.ts'
import { TextPassthrough } from '../passthrough/text-passthrough.ts'
import type { Generation } from './generation.ts'
import { usedBy } from './settle.ts'
import { Metering, inputBound } from './metering.ts'
import { guessInput } from '../model/weigh.ts'
import { BinaryPassthrough } from '../passthrough/binary-passthrough.ts'
import { keepable, keptFor } from '../kept/recall.ts'
import { TranslatedResponse, type Writer } from '../translation/translated-response.ts'
import type { Candidate } from '../routing/router.ts'
import type { Json } from '../model/json.ts'
import { raised } from '../wire/shared/least-output.ts'
import { isSimulated } from '../sim/offers.ts'
import { type Net, type Way, countFor } from '../translation/translate.ts'
import { forwardedBody } from '../passthrough/forwarded-body.ts'
import { forwardedHeaders, forwardedQuery } from '../passthrough/forwarded-headers.ts'
import type { UpstreamFault } from '../model/canonical-request.ts'
import { type Upstream, upstreamOf } from '../providers/transport/upstream.ts'

/** More answers to one question than anybody gives: what is asked for beyond it is dear enough. */
const MOST_ANSWERS = 1_000_000

/** How many answers are made and paid for: completions have some for each of their prompts, and more than they show. */
function answersIn({ n, best_of: best, prompt }: Record<string, unknown>): number {
  const each = Math.max(1, ...[n, best].filter((count) => typeof count === 'number'))
  const prompts = Array.isArray(prompt) && typeof prompt[0] !== 'number' ? prompt.length : 1
  return Math.min(MOST_ANSWERS, Math.ceil(each) * Math.max(1, prompts))
}

/** One candidate asked for a client of a surface: its money held, the request sent, and its answer told to the generation until its end. */
export class SurfaceAttempt implements AttemptListener {
  /** The call's in the ledger. */
  readonly id: Id
  readonly candidate: Candidate
  /** How it is asked; null: with the client's own bytes. */
  readonly way: Way | null
  readonly startedAt: number
  readonly #generation: Generation
  /** Null: tokens are counted and nothing is generated or charged. */
  readonly #metering: Metering | null
  #answer: AnswerInProgress | null = null
  #beganAt = 0
  #over = false

  /** `startedAt` by the clock of `performance.now()`. */
  constructor(generation: Generation, candidate: Candidate, way: Way | null, id: Id, startedAt: number) {
    this.#generation = generation
    this.id = id
    this.candidate = candidate
    this.way = way
    this.startedAt = startedAt
    const { gateway, caller, surface } = generation.request
    this.#metering = generation.call.metered
      ? new Metering(gateway.engine.ledger, candidate.offer, { id, payer: caller.payer, surface: surface.name })
      : null
  }

  get offer(): Offer {
    return this.candidate.offer
  }

  /** Throws what refuses it at once; what refuses it later goes to `refused`. */
  start(refused: (error: unknown) => void): void {
    const metering = this.#metering
    if (metering === null || !metering.guarded) return this.#send(null)
    this.#reserve(metering)
      .then((limit) => {
        if (this.#over || this.#generation.request.closed) metering.release()
        else this.#send(limit)
      })
      .catch(refused)
  }

  async #reserve(metering: Metering): Promise<number | null> {
    const { body, format } = this.#generation.call
    const { json } = body
    if (format.media) return metering.holdImages(format.media.images?.(json) ?? null, this.#inputBound())
    guardPrice(this.#asked, this.candidate.variant, this.offer.endpoint)
    // A bound that is there twice could be read as another one by the provider than by us.
    for (const field of [...format.limitFields, 'n', 'best_of', 'prompt'])
      if (Object.hasOwn(json, field)) locate(body, field)
    // What is no number here may be one to the provider.
    for (const field of [...format.limitFields, 'n', 'best_of']) {
      const value = json[field] ?? null
      if (value !== null && !(typeof value === 'number' && value >= 0))
        refuse('invalid_parameter', { param: field, message: `\`${field}\` must be a number from 0.` })
    }
    let highest: { field: string; tokens: number } | null = null
    for (const field of format.limitFields) {
      const tokens = json[field]
      if (typeof tokens === 'number' && tokens > (highest?.tokens ?? -1)) highest = { field, tokens }
    }
    const { maxOutputTokens, contextLength } = this.offer
    const unbounded = format.boundless ? (maxOutputTokens ?? contextLength ?? this.#inputBound()) : 0
    return metering.reserve({
      inputTokens: this.#inputBound(),
      maxTokens: highest === null ? (format.limitFields.length > 0 ? null : unbounded) : this.#limit(highest.tokens),
      n: answersIn(json),
      limitField: highest?.field ?? format.limitFields.at(-1) ?? null,
    })
  }

  /** What is sent, which a translation or the routing constraints have made another thing of. */
  get #asked(): Record<string, unknown> {
    return this.way?.body ?? this.#generation.call.bodyFor(this.offer).json
  }

  #send(limit: number | null): void {
    const generation = this.#generation
    const { call, request } = generation
    const { format, streaming } = call
    const { offer } = this
    const metering = this.#metering
    try {
      if (this.way !== null) return this.#play(this.way, limit)
      const upstream = upstreamOf(offer.endpoint)
      const { lead, rest } = forwardedBody(call, this.candidate, limit)
      const send: Send = {
        origin: upstream.origin,
        path: upstream.base + format.path + forwardedQuery(request.incoming.url!),
        method: 'POST',
        headers: this.#headers(upstream),
        lead,
        body: rest,
        mayBePrivate: upstream.mayBePrivate,
        credential: upstream.credential,
        party: request.caller.payer.accountId,
      }
      const { media } = format
      const passthrough = media
        ? new BinaryPassthrough(this, request.response, (type, tail) =>
            media.read(call.body.json, offer.pricing, type, tail),
          )
        : new TextPassthrough(this, request.response, format, streaming, generation.redraftFor(this))
      this.#answer = passthrough
      metering?.sent(this.#inputBound(), passthrough)
      dispatch(request.gateway.outbound, upstream, send, { model: offer.upstreamModel, stream: streaming }, passthrough)
    } catch (error) {
      metering?.release()
      throw error
    }
  }

  #headers(upstream: Upstream): readonly string[] {
    const { request, format, body } = this.#generation.call
    const given = request.incoming.headers
    const headers = forwardedHeaders(given, upstream, format, this.offer.endpoint.billing === 'byok')
    // A form's boundary stands in its type.
    if (!body.places) return headers
    return headers.with(headers.indexOf('content-type') + 1, given['content-type']!)
  }

  #play(way: Way, limit: number | null): void {
    const { call } = this.#generation
    const { request, body, streaming, translation } = call
    const { surface, response } = request
    if (this.#metering === null) {
      request.over()
      return request.json(200, surface.count!.write(countFor(this.offer, translation, () => guessInput(body.json))))
    }
    const about = call.about(this.id, this.candidate)
    const writer: Writer = streaming
      ? { stream: surface.stream(about, translation.includeUsage, request.id) }
      : { whole: (answer) => surface.whole(answer, about) }
    const keep = surface.keeps?.(body)
      ? (output: readonly Json[]) =>
          request.gateway.engine.items.keep(keptFor(request.caller.principal), keepable(output))
      : null
    const translated = new TranslatedResponse(
      this,
      response,
      writer,
      translation.canonical,
      isSimulated(this.offer),
      keep,
    )
    this.#answer = translated
    this.#metering.sent(this.#inputBound(), translated)
    const run = translated.run(way.play(limit, this.#net, translated.signal)).catch((error: unknown) => {
      // What nobody foresaw ends the call as well: nothing stays held, and what came is paid for.
      this.leave()
      throw error
    })
    request.after(run, () => {})
  }

  get #net(): Net {
    const { gateway, caller } = this.#generation.request
    return { outbound: gateway.outbound, outside: gateway.engine.outside, party: caller.payer.accountId }
  }

  /** As it will be asked for. */
  #limit(tokens: number): number {
    const { format } = this.#generation.call
    if (isSimulated(this.offer)) return Math.ceil(tokens)
    return raised(Math.ceil(tokens), this.way === null ? format.shape : this.offer.endpoint.shape)
  }

  #inputBound(): number {
    const metering = this.#metering
    if (!metering?.guarded) return 0
    // What is sent is what costs: a translation may say more than the client did.
    return inputBound(this.way?.body ?? this.#generation.call.body.json, metering.call.payer, this.offer.contextLength)
  }

  begin(contentType: string, length: number | null, provider: IncomingHttpHeaders): void {
    this.#beganAt = performance.now()
    this.#generation.begin(this, contentType, length, provider)
  }

  failed(fault: UpstreamFault): void {
    this.#over = true
    const { surface, gateway } = this.#generation.request
    gateway.engine.metrics.gateway.call(surface.name, 'failed', null)
    this.#metering?.fail(this.#duration(), this.#generation.call.streaming)
    this.#answer = null
    this.#generation.failed(this, fault)
  }

  ended(reading: Reading, why: UpstreamFault | null, firstByteAt: number, characters: number): void {
    const generation = this.#generation
    const broken = why ?? reading.fault
    const { health } = generation.request.gateway
    if (broken) {
      health.failed(this.offer, broken)
      generation.call.forgetCache()
    } else {
      const now = performance.now()
      health.succeeded(
        this.offer,
        firstByteAt - this.startedAt,
        now - this.startedAt,
        reading.usage?.output_tokens ?? 0,
        now,
      )
    }
    if (reading.usage !== null) generation.call.noteCache(this.offer, reading.usage)
    generation.ended(this, reading, why)
    this.#settle(reading, broken ? 'failed' : 'succeeded', firstByteAt - generation.request.startedAt, characters)
  }

  /** Nothing more comes of it. */
  get over(): boolean {
    return this.#over
  }

  /** Its answer is not wanted any more: what was produced is paid for. Answers what it cost, null where nobody knows. */
  leave(): Nano | null {
    this.#over = true
    if (this.#answer === null) return 0n
    const { reading, characters } = this.#answer.leave()
    this.#answer = null
    const firstTokenMs = this.#beganAt > 0 ? this.#beganAt - this.#generation.request.startedAt : null
    return this.#settle(reading, 'cancelled', firstTokenMs, characters)
  }

  #settle(
    reading: Reading,
    status: 'succeeded' | 'failed' | 'cancelled',
    firstTokenMs: number | null,
    characters: number,
  ): Nano | null {
    const metering = this.#metering
    if (metering === null) return 0n
    this.#generation.request.gateway.engine.metrics.gateway.call(metering.call.surface, status, firstTokenMs)
    const generation = this.#generation
    const { usage, estimated } = usedBy(reading, status === 'succeeded', characters, () =>
      guessInput(generation.call.body.json),
    )
    return metering.settle({
      status,
      usage,
      reportedUsd: reading.reportedUsd,
      audio: reading.audio,
      unpriced: reading.unpriced === true,
      estimated,
      finishReason: reading.finishReason,
      firstTokenMs,
      durationMs: this.#duration(),
      streamed: generation.call.streaming,
    })
  }

  #duration(): number {
    return performance.now() - this.#generation.request.startedAt
  }
}
