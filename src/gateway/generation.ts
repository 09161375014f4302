import type { IncomingHttpHeaders } from 'node:http'
import type { Send } from '#engine/outbound/outbound.ts'
import { Refusal, refuse } from '#kernel/errors.ts'
import { newId } from '#kernel/ids.ts'
import { toUsd } from '#kernel/money.ts'
import { usageOf } from '#kernel/usage.ts'
import { type Body, type Edit, locate, setField, splice } from './body.ts'
import { costOf } from './cost.ts'
import type { Dialect, Reading } from './dialects/dialect.ts'
import type { Offer } from './directory.ts'
import { type Attempt, Forward } from './forward.ts'
import { Metering, guessInput, inputBound } from './metering.ts'
import { isRetryable, scrub } from './retry.ts'
import { Played, type Writer } from './played.ts'
import { type Candidate, newSeed, route } from './router.ts'
import type { AnswerAbout } from './shapes/about.ts'
import { isObject } from './shapes/json.ts'
import { Translation, type Way, countFor, isServed, isSimulated, lossesHeader, lossless, travels } from './translate.ts'
import { travellingHeaders, travellingQuery } from './travelling.ts'
import type { UpstreamFault } from './turn.ts'
import { upstreamOf } from './upstream.ts'
import type { Visit } from './visit.ts'

/** One call of a model through a surface: offers, attempts with their money, and the answer's end. */
export class Generation implements Attempt {
  readonly visit: Visit
  readonly body: Body
  readonly dialect: Dialect
  readonly model: string
  readonly streaming: boolean
  /** False: tokens are counted and nothing is generated or charged. */
  readonly #metered: boolean
  readonly #place: { start: number; end: number }
  /** OpenAI's shape says what was used only when asked: then it is asked for in the client's place. */
  readonly #usageEdit: Edit | null
  #seed = 0
  #candidates: readonly Candidate[] = []
  #index = -1
  #metering: Metering | null = null
  #answer: Forward | Played | null = null
  #translation: Translation | null = null
  /** Null: the bytes travel as they are. */
  #way: Way | null = null
  #beganAt = 0

  constructor(visit: Visit, body: Body, dialect: Dialect, metered: boolean) {
    this.visit = visit
    this.body = body
    this.dialect = dialect
    this.#metered = metered
    const { model, stream } = body.json
    if (typeof model !== 'string' || model === '')
      refuse('missing_parameter', { message: 'You must provide a `model` parameter.', param: 'model' })
    this.model = model
    this.streaming = metered && stream === true
    this.#place = locate(body, 'model')
    this.#usageEdit = this.streaming && dialect.usageOption ? askForUsage(body) : null
  }

  get offer(): Offer {
    return this.#candidates[this.#index]!.offer
  }

  start(): void {
    const { visit } = this
    visit.onLeave(() => this.#left())
    visit.after(visit.gateway.directory.offers(visit.caller.principal, this.model), (offers) => {
      const candidates = this.#choose(offers)
      const strict = visit.request.headers['x-uk-strict'] === '1'
      this.#candidates = strict ? lossless(candidates, (offer) => this.#wayTo(offer)?.losses ?? []) : candidates
      this.#next()
    })
  }

  #choose(offers: readonly Offer[]): readonly Candidate[] {
    const { surface, gateway, request } = this.visit
    if (offers.length === 0)
      refuse('not_found', {
        message: `The model \`${this.model}\` does not exist, or you have no access to it.`,
        param: 'model',
      })
    const asked = request.headers['x-uk-seed']
    this.#seed = typeof asked === 'string' && /^\d{1,10}$/.test(asked) ? Number(asked) >>> 0 : newSeed()
    const served = (offer: Offer): boolean => isServed(surface, offer)
    const only = offers.length === 1 ? offers[0]! : null
    if (only !== null && served(only)) return [{ offer: only, weight: 1, reason: '' }]
    const { candidates } = route(offers.filter(served), { seed: this.#seed, needs: this.#needs() }, (offer) =>
      gateway.failures.recent(offer),
    )
    if (candidates.length > 0) return candidates
    const shapes = [...new Set(offers.map(({ endpoint }) => endpoint.shape))].join(', ')
    return offers.some(served)
      ? refuse('no_route', { message: `No provider of \`${this.model}\` can serve this request.` })
      : refuse('unsupported_model', {
          message: `\`${this.model}\` is served in the shape ${shapes}, which ${surface.name} does not translate to.`,
          param: 'model',
        })
  }

  #needs(): string[] {
    const { tools } = this.body.json
    return Array.isArray(tools) && tools.length > 0 ? ['tools'] : []
  }

  /** How this offer is asked; null: with the client's own bytes. */
  #wayTo(offer: Offer): Way | null {
    const { surface, request } = this.visit
    if (travels(surface, offer)) return null
    const { json } = this.body
    this.#translation ??= new Translation(surface, this.#metered ? json : { max_tokens: 1, ...json }, request.headers)
    return this.#translation.to(offer)
  }

  /** The next candidate's turn. */
  #next(): void {
    const { visit } = this
    this.#index++
    try {
      this.#way = this.#wayTo(this.offer)
    } catch (error) {
      // What this one's shape has no place for, the next one's may have.
      if (!(error instanceof Refusal) || this.#index + 1 >= this.#candidates.length) throw error
      return this.#next()
    }
    if (!this.#metered) return this.#send(null)
    const { gateway, caller, id, surface } = visit
    const metering = new Metering(gateway.engine.ledger, this.offer, {
      id: this.#index === 0 ? id : newId(),
      payer: caller.payer,
      surface: surface.name,
    })
    this.#metering = metering
    if (!metering.guarded) return this.#send(null)
    visit.after(this.#reserve(metering), (limit) => {
      if (visit.closed) metering.release()
      else this.#send(limit)
    })
  }

  async #reserve(metering: Metering): Promise<number | null> {
    const { json } = this.body
    // A bound that is there twice could be read as another one by the provider than by us.
    for (const field of [...this.dialect.limitFields, 'n']) if (Object.hasOwn(json, field)) locate(this.body, field)
    const limits = this.dialect.limitFields
      .map((field) => json[field])
      .filter((value) => typeof value === 'number' && value >= 0)
    const n = typeof json.n === 'number' && json.n >= 1 ? Math.min(MOST_ANSWERS, Math.ceil(json.n)) : 1
    return metering.reserve({
      inputTokens: this.#inputBound(),
      maxTokens: limits.length === 0 ? null : Math.ceil(Math.max(...(limits as number[]))),
      n,
    })
  }

  #send(limit: number | null): void {
    const { visit, offer, dialect } = this
    const metering = this.#metering
    try {
      if (this.#way !== null) return this.#play(this.#way, limit)
      const upstream = upstreamOf(offer.endpoint)
      const send: Send = {
        origin: upstream.origin,
        path: upstream.base + dialect.path + travellingQuery(visit.request.url!),
        method: 'POST',
        headers: travellingHeaders(visit.request.headers, upstream, dialect, offer.endpoint.billing === 'byok'),
        body: this.#spliced(limit),
        mayBePrivate: upstream.mayBePrivate,
      }
      const hide = visit.surface.usageOnRequest && this.#usageEdit !== null
      const forward = new Forward(this, visit.response, dialect, this.streaming, hide)
      this.#answer = forward
      metering?.sent(this.#inputBound(), forward)
      visit.gateway.outbound.dispatch(send, forward)
    } catch (error) {
      metering?.release()
      throw error
    }
  }

  #play(way: Way, limit: number | null): void {
    const { visit, body, offer } = this
    const { surface, response, gateway } = visit
    const translation = this.#translation!
    if (!this.#metered) {
      visit.over()
      return visit.json(200, { input_tokens: countFor(offer, translation, () => guessInput(body.json)) })
    }
    const about = this.#about()
    const writer: Writer = this.streaming
      ? { stream: surface.stream(about, translation.includeUsage, visit.id) }
      : { whole: (answer) => surface.whole(answer, about) }
    const played = new Played(this, response, writer, translation.turn, isSimulated(offer))
    this.#answer = played
    this.#metering?.sent(this.#inputBound(), played)
    visit.after(played.run(way.play(limit, gateway.outbound, played.signal)), () => {})
  }

  #inputBound(): number {
    const metering = this.#metering
    if (!metering?.guarded) return 0
    // What is sent is what costs: a translation may say more than the client did.
    return inputBound(this.#way?.body ?? this.body.json, metering.call.payer, this.offer.contextLength)
  }

  #about(): AnswerAbout {
    const { offer, visit } = this
    return {
      id: visit.id,
      model: this.model,
      created: Math.floor(Date.now() / 1000),
      provider: offer.endpoint.slug,
      billing: offer.endpoint.billing,
      costOf: (usage, reported) => {
        const { nano } = costOf(usage, offer, reported ?? undefined, null)
        return nano === null ? null : toUsd(nano)
      },
    }
  }

  /** The client's bytes with what has to differ. */
  #spliced(limit: number | null): Buffer {
    const { body, offer, dialect } = this
    const edits: Edit[] = this.#usageEdit === null ? [] : [this.#usageEdit]
    if (this.model !== offer.upstreamModel) edits.push({ ...this.#place, text: JSON.stringify(offer.upstreamModel) })
    if (limit !== null) edits.push(setField(body, dialect.limitField(offer.endpoint.preset), String(limit)))
    return edits.length === 0 ? body.bytes : splice(body.bytes, edits)
  }

  begin(contentType: string, length: number | null, provider: IncomingHttpHeaders): void {
    const { visit } = this
    const { head } = visit
    head.push('content-type', contentType, 'x-uk-route', this.route)
    if (length !== null) head.push('content-length', String(length))
    if (this.#way !== null) this.#declare(this.#way)
    if (this.streaming) head.push('cache-control', 'no-cache', 'x-accel-buffering', 'no')
    // How much of its quota is left says something only to who owns the account.
    if (this.offer.endpoint.billing === 'byok')
      for (const name in provider)
        if (name.startsWith('x-ratelimit-') || name.startsWith('anthropic-ratelimit-'))
          head.push(name, String(provider[name]))
    this.#beganAt = performance.now()
    visit.response.writeHead(200, head)
    if (this.streaming) visit.watchRights(this.offer.endpoint.id)
  }

  #declare({ losses }: Way): void {
    if (losses.length === 0) return
    const { head, gateway, surface } = this.visit
    head.push('x-uk-losses', lossesHeader(losses))
    for (const name of losses) gateway.engine.metrics.loss(surface.name, this.offer.endpoint.shape, name)
  }

  get route(): string {
    return `provider=${this.offer.endpoint.slug}; seed=${this.#seed}`
  }

  failed(why: UpstreamFault): void {
    const { visit } = this
    const { failures } = visit.gateway
    const fault = scrub(why, this.offer.endpoint)
    this.#metering?.fail(this.#duration(), this.streaming)
    this.#answer = null
    if (isRetryable(fault)) {
      failures.note(this.offer)
      if (!visit.closed && this.#index + 1 < this.#candidates.length) return visit.attempt(() => this.#next())
    }
    const spent = this.#candidates.length > 1 && isRetryable(fault)
    visit.fail(fault, { 'x-uk-route': this.route, ...(spent && { 'x-should-retry': 'false' }) })
  }

  ended(reading: Reading, why: UpstreamFault | null, firstByteAt: number, characters: number): void {
    const { visit } = this
    const { surface, response, gateway } = visit
    visit.over()
    const broken = why ?? reading.fault
    if (broken) gateway.failures.note(this.offer)
    else gateway.failures.forget(this.offer)
    if (this.streaming && !response.writableEnded) {
      if (why) response.end(surface.stream(this.#about(), false, visit.id).fail(scrub(why, this.offer.endpoint)))
      else if (surface.closing !== null && reading.fault === null && !reading.closed) response.end(surface.closing)
      else response.end()
    }
    this.#settle(reading, broken ? 'failed' : 'succeeded', firstByteAt - visit.startedAt, characters)
  }

  /** The client has left before the end: it pays for what was produced. */
  #left(): void {
    if (this.#answer === null) return
    const { reading, characters } = this.#answer.leave()
    this.#settle(reading, 'cancelled', this.#beganAt > 0 ? this.#beganAt - this.visit.startedAt : null, characters)
  }

  #settle(
    reading: Reading,
    status: 'succeeded' | 'failed' | 'cancelled',
    firstTokenMs: number | null,
    characters: number,
  ): void {
    const metering = this.#metering
    if (metering === null) return
    const said =
      status === 'cancelled' && reading.usage !== null && reading.finishReason === null ? Math.ceil(characters / 4) : 0
    const usage =
      reading.usage ?? usageOf({ input_tokens: guessInput(this.body.json), output_tokens: Math.ceil(characters / 4) })
    metering.settle({
      status,
      // A stream that was left tells its input at most: the output is reckoned from what came.
      usage: said > usage.output_tokens ? usageOf({ ...usage, output_tokens: said }) : usage,
      reportedUsd: reading.reportedUsd,
      audio: reading.audio,
      estimated: reading.usage === null || said > usage.output_tokens,
      finishReason: reading.finishReason,
      firstTokenMs,
      durationMs: this.#duration(),
      streamed: this.streaming,
    })
  }

  #duration(): number {
    return performance.now() - this.visit.startedAt
  }
}

/** More answers to one question than anybody gives: what is asked for beyond it is dear enough. */
const MOST_ANSWERS = 1_000_000

function askForUsage(body: Body): Edit | null {
  const { stream_options: options } = body.json
  const given = isObject(options) ? options : {}
  return given.include_usage === true
    ? null
    : setField(body, 'stream_options', JSON.stringify({ ...given, include_usage: true }))
}
