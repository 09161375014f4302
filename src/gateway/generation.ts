import type { IncomingHttpHeaders } from 'node:http'
import { Refusal, refuse } from '#kernel/errors.ts'
import { newId } from '#kernel/ids.ts'
import { toUsd } from '#kernel/money.ts'
import { Attempts, type Step } from './attempts.ts'
import { type Body, type Edit, locate, setField, splice } from './body.ts'
import { isWrapped, lossesOnTheWay } from './carriers/losses.ts'
import { choose } from './choose.ts'
import { costOf } from './cost.ts'
import type { Dialect, Reading } from './dialects/dialect.ts'
import type { Offer, Shape } from './directory.ts'
import { isRetryable, scrub } from './retry.ts'
import { type Asked, type Candidate, newSeed } from './router.ts'
import type { AnswerAbout } from './shapes/about.ts'
import { isObject } from './shapes/json.ts'
import { takesStreamOptions } from './shapes/openai-chat/quirks.ts'
import type { Demands } from './surfaces/surface.ts'
import { Translation, type Way, isServed, lossesHeader, lossless, travels } from './translate.ts'
import { Try } from './try.ts'
import type { Loss, UpstreamFault } from './turn.ts'
import { askedModels } from './variants.ts'
import type { Visit } from './visit.ts'
import { sketchOf, wishFor } from './wish.ts'

const none: readonly never[] = []

/** One call of a model through a surface: who may serve it, one try after the other, and the answer's head and end. */
export class Generation {
  readonly visit: Visit
  readonly body: Body
  readonly dialect: Dialect
  readonly model: string
  readonly streaming: boolean
  readonly #metered: boolean
  /** Null: the model is asked for as it is, by whoever serves it. */
  readonly #demands: Demands | null
  /** Where the model's name stands in the body; null: nowhere. */
  readonly #place: { start: number; end: number } | null
  /** OpenAI's shape says what was used only when asked: then it is asked for in the client's place. */
  readonly #usageEdit: Edit | null
  #seed = 0
  #unserved: readonly string[] = none
  #candidates: readonly Candidate[] = []
  // Made when the first one fails: most calls never need it.
  #attempts: Attempts | null = null
  #try: Try | null = null
  #translation: Translation | null = null
  #waiting: NodeJS.Timeout | null = null

  /** `metered` false: tokens are counted and nothing is generated or charged. */
  constructor(visit: Visit, body: Body, dialect: Dialect, metered: boolean) {
    this.visit = visit
    this.body = body
    this.dialect = dialect
    this.#metered = metered
    const { model, stream } = body.json
    this.#demands = visit.surface.demands?.(body) ?? null
    const named = this.#demands === null ? model : this.#demands.models[0]
    if (typeof named !== 'string' || named === '')
      refuse('missing_parameter', { message: 'You must provide a `model` parameter.', param: 'model' })
    this.model = named
    this.streaming = metered && stream === true && dialect.media === undefined
    this.#place = Object.hasOwn(body.json, 'model') ? locate(body, 'model') : null
    this.#usageEdit = this.streaming && dialect.usageOption ? askForUsage(body) : null
  }

  /** What the provider says of usage only because the gateway asked is not for the client. */
  get hidesUsage(): boolean {
    return this.visit.surface.usageOnRequest && this.#usageEdit !== null
  }

  start(): void {
    const { visit } = this
    visit.onLeave(() => this.#left())
    const { directory } = visit.gateway
    const { principal } = visit.caller
    if (this.#demands === null)
      visit.after(directory.offers(principal, this.model), (offers) =>
        this.#go(this.#only(offers) ?? this.#choose([{ model: this.model, offers }])),
      )
    else
      visit.after(askedModels(directory, principal, this.#demands.models), (asked) => {
        this.#unserved = asked.flatMap(({ model, offers }) => (offers.length === 0 ? [model] : []))
        this.#go(this.#choose(asked))
      })
  }

  #go(candidates: readonly Candidate[]): void {
    const strict = this.visit.request.headers['x-uk-strict'] === '1'
    this.#candidates = strict ? lossless(candidates, (offer) => this.#lossesTo(offer, this.#wayTo(offer))) : candidates
    this.#begin(this.#candidates[0]!)
  }

  /** Most models are served by one offer alone, which then is asked whatever old data says that it cannot do. */
  #only(offers: readonly Offer[]): readonly Candidate[] | null {
    const [offer] = offers
    if (offers.length !== 1 || !isServed(this.visit.surface, offer!)) return null
    this.#seed = this.#seedAsked()
    return [{ offer: offer!, asked: this.model, variant: '', weight: 1, reason: '' }]
  }

  #choose(asked: readonly Asked[]): readonly Candidate[] {
    const { surface, gateway, caller } = this.visit
    this.#seed = this.#seedAsked()
    const wish = {
      ...wishFor(
        sketchOf(this.body.json, this.dialect.limitFields),
        this.#seed,
        (offer) => isServed(surface, offer),
        (billing) => gateway.engine.ledger.guards(caller.payer, billing),
      ),
      ...this.#demands?.wish,
    }
    return choose(asked, wish, gateway.health, this.#demands?.together ?? false, (shapes) =>
      surface.translates
        ? `\`${this.model}\` is served in the shape ${shapes}, which ${surface.name} does not translate to.`
        : `\`${this.model}\` does not serve ${this.dialect.path}.`,
    )
  }

  #seedAsked(): number {
    const asked = this.visit.request.headers['x-uk-seed']
    return typeof asked === 'string' && /^\d{1,10}$/.test(asked) ? Number(asked) >>> 0 : newSeed()
  }

  #lossesTo(offer: Offer, way: Way | null): readonly Loss[] {
    const own = this.#demands?.lossesTo(offer) ?? none
    const others = way?.losses ?? lossesOnTheWay(offer.endpoint, this.body.json, this.visit.request.headers)
    return own.length === 0 ? others : [...new Set([...own, ...others])]
  }

  /** How this offer is asked; null: with the client's own bytes. */
  #wayTo(offer: Offer): Way | null {
    const { surface } = this.visit
    // Wrapped, a count would need a request of another kind: it is a guess.
    const counted = !this.#metered && isWrapped(offer.endpoint)
    const asIs = travels(surface, offer) && !counted && !surface.foreign(this.body)
    return asIs ? null : this.translation.to(offer)
  }

  /** The request as it is read for whoever speaks another shape. */
  get translation(): Translation {
    const { json } = this.body
    return (this.#translation ??= new Translation(
      this.visit.surface,
      this.#metered ? json : { max_tokens: 1, ...json },
      this.visit.request.headers,
    ))
  }

  #begin(candidate: Candidate): void {
    const { visit } = this
    let way: Way | null
    try {
      way = this.#wayTo(candidate.offer)
    } catch (error) {
      // What this one's shape has no place for, the next one's may have.
      const step = error instanceof Refusal && this.#candidates.length > 1 ? this.#plan().next() : null
      if (step === null) throw error
      return this.#take(step)
    }
    const id = this.#try === null ? visit.id : newId()
    const startedAt = this.#try === null ? visit.startedAt : performance.now()
    this.#try = new Try(this, candidate, way, id, this.#metered, startedAt)
    this.#try.start((error) => visit.fail(error))
  }

  #plan(): Attempts {
    const { startedAt, gateway } = this.visit
    return (this.#attempts ??= new Attempts(this.#candidates, gateway.health, { startedAt }))
  }

  #take({ candidate, waitMs }: Step): void {
    const again = (): void => this.visit.attempt(() => this.#begin(candidate))
    if (waitMs === 0) again()
    else this.#waiting = setTimeout(again, waitMs)
  }

  about({ offer, asked }: Candidate): AnswerAbout {
    return {
      id: this.visit.id,
      // Of several models the answer says which one it is.
      model: this.#demands === null ? asked : offer.slug,
      created: Math.floor(Date.now() / 1000),
      provider: offer.endpoint.slug,
      billing: offer.endpoint.billing,
      request: this.body.json,
      costOf: (usage, reported) => {
        const { nano } = costOf(usage, offer, reported ?? undefined, null)
        return nano === null ? null : toUsd(nano)
      },
    }
  }

  /** The client's bytes with what has to differ. */
  bytesFor({ offer, variant }: Candidate, limit: number | null): Buffer | string {
    const { dialect } = this
    const body = this.#demands === null ? this.body : this.#demands.bodyFor(offer, this.#unserved)
    const same = body === this.body
    const edits: Edit[] = []
    if (this.#usageEdit !== null && takesStreamOptions(offer.endpoint.preset)) {
      const usage = same ? this.#usageEdit : askForUsage(body)
      if (usage !== null) edits.push(usage)
    }
    const name = offer.upstreamModel + variant
    if (body.json.model !== name) {
      const text = body.places ? name : JSON.stringify(name)
      edits.push(same && this.#place !== null ? { ...this.#place, text } : setField(body, 'model', text))
    }
    if (limit !== null) edits.push(setField(body, dialect.limitField(offer.endpoint.preset), String(limit)))
    return splice(body, edits)
  }

  /** A try's answer begins: the head of the client's. */
  begin({ candidate, way }: Try, contentType: string, length: number | null, provider: IncomingHttpHeaders): void {
    const { visit } = this
    const { head } = visit
    const { endpoint } = candidate.offer
    head.push('content-type', contentType, 'x-uk-route', this.#route(candidate))
    if (length !== null) head.push('content-length', String(length))
    const losses = this.#lossesTo(candidate.offer, way)
    if (losses.length > 0) this.#declare(losses, endpoint.shape)
    if (contentType.startsWith('text/event-stream')) head.push('cache-control', 'no-cache', 'x-accel-buffering', 'no')
    // How much of its quota is left says something only to who owns the account.
    if (endpoint.billing === 'byok')
      for (const name in provider)
        if (name.startsWith('x-ratelimit-') || name.startsWith('anthropic-ratelimit-'))
          head.push(name, String(provider[name]))
    visit.response.writeHead(200, head)
    if (this.streaming) visit.watchRights(endpoint.id)
  }

  #declare(losses: readonly Loss[], shape: Shape): void {
    const { head, gateway, surface } = this.visit
    head.push('x-uk-losses', lossesHeader(losses))
    for (const name of losses) gateway.engine.metrics.loss(surface.name, shape, name)
  }

  #route({ offer }: Candidate): string {
    return `provider=${offer.endpoint.slug}; seed=${this.#seed}`
  }

  /** A try came to nothing, and the client has seen nothing of it. */
  failed({ candidate }: Try, why: UpstreamFault): void {
    const { visit } = this
    const attempts = this.#plan()
    attempts.failed(candidate, why)
    const step = visit.closed ? null : attempts.next()
    if (step !== null) return this.#take(step)
    const fault = scrub(why, candidate.offer.endpoint)
    const spent = attempts.failures > 1 && isRetryable(fault)
    visit.fail(fault, { 'x-uk-route': this.#route(candidate), ...(spent && { 'x-should-retry': 'false' }) })
  }

  /** A try's answer is over; with a fault it broke off, and the client's stream is still open for a last frame. */
  ended({ candidate }: Try, reading: Reading, why: UpstreamFault | null): void {
    const { visit } = this
    const { surface, response } = visit
    visit.over()
    if (!this.streaming || response.writableEnded) return
    if (why)
      response.end(surface.stream(this.about(candidate), false, visit.id).fail(scrub(why, candidate.offer.endpoint)))
    else if (surface.closing !== null && reading.fault === null && !reading.closed) response.end(surface.closing)
    else response.end()
  }

  /** The client has left before the end: it pays for what was produced. */
  #left(): void {
    if (this.#waiting) clearTimeout(this.#waiting)
    this.#try?.leave()
  }
}

function askForUsage(body: Body): Edit | null {
  const { stream_options: options } = body.json
  const given = isObject(options) ? options : {}
  return given.include_usage === true
    ? null
    : setField(body, 'stream_options', JSON.stringify({ ...given, include_usage: true }))
}
