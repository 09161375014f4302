import type { IncomingHttpHeaders } from 'node:http'
import type { Send } from '#packages/http-client/send.ts'
import { type Nano, toUsd } from '#core/money.ts'
import { itemsToKeep, ownerOfItems } from '../stored-references/kept-items.ts'
import type { AnswerAbout } from '../model/answer-about.ts'
import type { Chunk, Loss, UpstreamFault } from '../model/canonical-request.ts'
import { scrub } from '../wire/scrub.ts'
import type { Json } from '../model/json.ts'
import type { Offer } from '../model/offer.ts'
import { BinaryPassthrough } from '../passthrough/binary-passthrough.ts'
import type { Reading } from '../model/in-progress.ts'
import { forwardedBody } from '../passthrough/forwarded-body.ts'
import { forwardedHeaders, forwardedQuery } from '../passthrough/forwarded-headers.ts'
import { hideUsage } from '../passthrough/hide-usage.ts'
import { TextPassthrough } from '../passthrough/text-passthrough.ts'
import { dispatch } from '../providers/dispatch.ts'
import { comments, errorEvent } from '../request/comments.ts'
import { type Upstream, upstreamOf } from '../providers/upstream.ts'
import type { GatewayRequest } from '../request/request.ts'
import { hedgeDelayIn } from '../routing/constraints.ts'
import type { Candidate } from '../routing/router.ts'
import { isSimulated } from '../sim/offers.ts'
import { type Redraft, inTurn } from '../passthrough/redraft.ts'
import { embeddingEncoding } from '../passthrough/embedding-encoding.ts'
import { openaiEmbeddings } from '../passthrough/formats/untranslated.ts'
import { uniqueCalls } from '../passthrough/unique-calls.ts'
import { StreamPulse } from '../request/stream-pulse.ts'
import { lossesHeader } from '../translation/losses-header.ts'
import { type TranslatedRequest, countFor } from '../translation/translate.ts'
import { TranslatedResponse, type Writer } from '../translation/translated-response.ts'
import { Call } from './call.ts'
import type { CallMoney, CallRelay, HandledAttempt } from './handler.ts'
import type { ModelRequest } from './model-request.ts'
import { ClientCallMoney } from './client-money.ts'

const PICTURE: Chunk = { type: 'image', source: { kind: 'base64', media_type: 'image/png', data: '' } }
const NOTHING_LOST = (): null => null
const UNCOUNTED: ReadonlySet<number> = new Set([404, 405, 501])

/** Passes a client's request to a provider, translated where needed, and the answer back. */
export class SurfaceCall implements CallRelay {
  readonly request: GatewayRequest
  readonly #modelRequest: ModelRequest
  readonly #money: CallMoney
  readonly #call: Call
  #pulse: StreamPulse | null = null
  /** The pass-through of each of two racing attempts; the second field is the one the client reads. */
  readonly #passthroughs = new WeakMap<HandledAttempt, TextPassthrough | BinaryPassthrough>()
  #passthrough: TextPassthrough | BinaryPassthrough | null = null
  #answer: TranslatedResponse | null = null

  constructor(modelRequest: ModelRequest) {
    this.request = modelRequest.request
    this.#modelRequest = modelRequest
    this.#money = new ClientCallMoney(modelRequest)
    this.#call = new Call({ request: modelRequest, money: this.#money, relay: this })
  }

  start(): void {
    this.request.onLeave(
      () => this.#left(),
      (failure) => this.#tell(failure),
      () => this.#call.uses(),
    )
    this.#modelRequest.candidates((candidates) => this.#go(candidates))
  }

  #go(candidates: readonly Candidate[]): void {
    // A client that disconnected during a lookup pays nothing.
    const { request } = this
    if (request.closed) return
    const delay = hedgeDelayIn(request.incoming.headers['x-uk-hedge'])
    this.#call.start(candidates, this.#modelRequest.metered ? delay : null)
    if (!this.#modelRequest.answersEvents || request.response.writableEnded) return
    this.#pulse = new StreamPulse(request, {
      head: ['x-uk-route', this.#modelRequest.routeTo(null)],
      isCut: () => this.#passthrough?.cut === true,
    })
  }

  lossesOf({ offer, translated: translation }: HandledAttempt): readonly Loss[] {
    const requestLosses = this.#modelRequest.lossesTo(offer, translation)
    const answerLosses = translation === null ? [] : [...this.#pictureLoss(offer), ...(this.#answer?.lost ?? [])]
    return answerLosses.length === 0 ? requestLosses : [...new Set([...requestLosses, ...answerLosses])]
  }

  /** A stream's head is sent before its images arrive, so the loss is named at once for image models. */
  #pictureLoss({ capabilities }: Offer): readonly Loss[] {
    if (!this.#modelRequest.streaming || !capabilities.includes('image_output')) return []
    const { modalities } = this.#modelRequest.translation.canonical
    const loss = modalities?.includes('image') === false ? null : this.request.surface.loses?.(PICTURE)
    return loss ? [loss] : []
  }

  send(attempt: HandledAttempt, limit: number | null): void {
    if (attempt.translated === null) this.#pass(attempt, limit)
    else if (this.#modelRequest.metered) this.#translate(attempt, attempt.translated, limit)
    else this.#count(countFor(attempt.offer, this.#modelRequest.translation, () => this.#money.guessInput()))
  }

  #pass(attempt: HandledAttempt, limit: number | null): void {
    const { request } = this
    const modelRequest = this.#modelRequest
    const { format, streaming, payer, gateway } = modelRequest
    const { offer } = attempt
    const upstream = upstreamOf(offer.endpoint)
    const { lead, rest } = forwardedBody(modelRequest, attempt.candidate, limit)
    const send: Send = {
      origin: upstream.origin,
      path: upstream.base + format.path + forwardedQuery(request.incoming.url!),
      method: 'POST',
      headers: this.#headers(upstream, offer),
      lead,
      body: rest,
      mayBePrivate: upstream.mayBePrivate,
      credential: upstream.credential,
      party: payer.accountId,
    }
    const { media } = format
    const passthrough = media
      ? new BinaryPassthrough(
          attempt,
          request.response,
          (type, tail) => media.read(modelRequest.body.json, offer, type, tail),
          media.events?.write ?? null,
        )
      : new TextPassthrough(attempt, request.response, format, streaming, this.#redraftFor(attempt))
    this.#passthroughs.set(attempt, passthrough)
    attempt.sent(passthrough)
    dispatch(gateway.outbound, upstream, send, { model: offer.upstreamModel, stream: streaming }, passthrough)
  }

  #headers(upstream: Upstream, { endpoint }: Offer): readonly string[] {
    const { format, body } = this.#modelRequest
    const clientHeaders = this.request.incoming.headers
    const headers = forwardedHeaders(clientHeaders, upstream, format, endpoint.billing === 'byok')
    if (!body.places) return headers
    return headers.with(headers.indexOf('content-type') + 1, clientHeaders['content-type']!)
  }

  #redraftFor(attempt: HandledAttempt): Redraft | null {
    const { surface } = this.request
    const { format, body, usageEdit } = this.#modelRequest
    const redrafts = [
      surface.redraft?.(this.#about(attempt), attempt.offer) ?? null,
      format.limitFields.length > 0 ? uniqueCalls(format.shape, body.bytes) : null,
      format.path === openaiEmbeddings.path ? embeddingEncoding(body.value('encoding_format')) : null,
      // Usage that only the gateway requested isn't shown to the client.
      surface.usageOnRequest && usageEdit !== null ? { events: hideUsage } : null,
    ].filter((one) => one !== null)
    return redrafts.length === 0 ? null : inTurn(redrafts)
  }

  #translate(attempt: HandledAttempt, translated: TranslatedRequest, limit: number | null): void {
    const { request } = this
    const { body, translation, gateway, payer, streaming } = this.#modelRequest
    const { surface, response } = request
    const about = this.#about(attempt)
    const writer: Writer = streaming
      ? { stream: surface.stream(about, translation.includeUsage, request.id) }
      : { whole: (answer) => surface.whole(answer, about) }
    const keep = surface.keeps?.(body)
      ? (output: readonly Json[]) =>
          gateway.engine.items.keep(ownerOfItems(request.caller.principal), itemsToKeep(output))
      : null
    const isSimulation = isSimulated(attempt.offer)
    const { canonical } = translation
    const loses = surface.loses ?? NOTHING_LOST
    const answer = new TranslatedResponse(attempt, response, writer, canonical, isSimulation, keep, loses)
    this.#answer = answer
    attempt.sent(answer)
    const net = { outbound: gateway.outbound, outside: gateway.engine.outside, party: payer.accountId }
    const run = answer.run(translated.send(limit, net, answer.signal)).catch((error: unknown) => {
      // An unexpected error also ends the call: no reservation stays, and received output is billed.
      attempt.leave()
      throw error
    })
    request.after(run, () => {})
  }

  #count(tokens: number): void {
    this.request.over()
    this.request.json(200, this.request.surface.count!.write(tokens))
  }

  /** Tokens are counted locally if the provider can't: many providers of a vendor's shape have no counting route. */
  toleratesFault(why: UpstreamFault): boolean {
    if (this.#modelRequest.metered || this.request.surface.count === null || !UNCOUNTED.has(why.status ?? 0))
      return false
    this.#count(this.#money.guessInput())
    return true
  }

  #about({ id, candidate }: HandledAttempt): AnswerAbout {
    return this.#modelRequest.about(id, candidate)
  }

  begin(
    attempt: HandledAttempt,
    losses: readonly Loss[],
    contentType: string,
    length: number | null,
    provider: IncomingHttpHeaders,
  ): void {
    const { request } = this
    const { id, candidate, offer } = attempt
    const { head, response, surface } = request
    const { endpoint } = offer
    this.#passthrough = this.#passthroughs.get(attempt) ?? null
    if (!contentType.startsWith('text/event-stream')) this.#quiet()
    if (surface.head !== undefined) head.push(...surface.head(id))
    head.push('content-type', contentType, 'x-uk-route', this.#modelRequest.routeTo(candidate))
    if (length !== null) head.push('content-length', String(length))
    if (this.#modelRequest.format.media) head.push('x-content-type-options', 'nosniff')
    if (losses.length > 0) head.push('x-uk-losses', lossesHeader(losses))
    if (contentType.startsWith('text/event-stream')) head.push('cache-control', 'no-cache', 'x-accel-buffering', 'no')
    // The remaining quota, and whose it is, only concern the owner of the account.
    if (endpoint.billing === 'byok')
      for (const name in provider)
        if (name.startsWith('x-ratelimit-') || name.startsWith('anthropic-') || name.startsWith('openai-'))
          head.push(name, String(provider[name]))
    if (!response.headersSent) response.writeHead(200, head)
    // The head was sent before the provider was known: comments carry the rest.
    else
      response.write(
        comments(['x-uk-route', this.#modelRequest.routeTo(candidate), 'x-uk-losses', lossesHeader(losses)]),
      )
    if (this.#modelRequest.answersEvents) request.watchRights(endpoint)
  }

  hedgeLost({ offer }: HandledAttempt, cost: Nano | null): void {
    const costComment = cost === null ? '' : `; cost_usd=${toUsd(cost)}`
    this.request.head.push('x-uk-hedge', `provider=${offer.endpoint.slug}${costComment}`)
  }

  /** Nothing else signals to the client that a partial answer has ended. */
  withdrawn(): void {
    this.request.response.destroy()
  }

  ended(attempt: HandledAttempt, reading: Reading, why: UpstreamFault | null): void {
    const { request } = this
    const { surface, response } = request
    this.#quiet()
    request.over()
    if (this.#modelRequest.streaming && !response.writableEnded) {
      const { endpoint } = attempt.offer
      if (why) response.end(this.#frame(attempt, { ...scrub(why, endpoint), provider: endpoint.slug }))
      else if (surface.closing !== null && reading.fault === null && !reading.closed) response.end(surface.closing)
      else response.end()
    }
    // The answer is written, logged, and billed: the provider's connection reads nothing from it after reporting the
    // end.
    if (this.#call.simple && attempt.translated === null) request.leaveBody()
  }

  failed(failure: unknown, candidate: Candidate, isExhausted: boolean): void {
    this.#quiet()
    const route = { 'x-uk-route': this.#modelRequest.routeTo(candidate) }
    this.#tell(failure, isExhausted ? { ...route, 'x-should-retry': 'false' } : route)
  }

  #tell(failure: unknown, headers: Record<string, string> = {}): void {
    const { request } = this
    const { attempt } = this.#call
    // After the head was sent, the error can only be sent in the stream.
    if (request.response.headersSent && this.#modelRequest.streaming && attempt !== null) {
      request.over()
      request.response.end(this.#frame(attempt, failure))
    } else if (this.#modelRequest.answersEvents) request.fail(failure, headers, errorEvent)
    else request.fail(failure, headers)
  }

  #frame(attempt: HandledAttempt, failure: unknown): string {
    return this.request.surface.stream(this.#about(attempt), false, this.request.id).fail(failure)
  }

  #quiet(): void {
    this.#pulse?.[Symbol.dispose]()
  }

  #left(): void {
    this.#quiet()
    this.#call.leave()
  }
}
