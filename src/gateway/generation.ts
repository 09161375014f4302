import type { IncomingHttpHeaders } from 'node:http'
import { Refusal, refuse } from '#kernel/errors.ts'
import { newId } from '#kernel/ids.ts'
import { toUsd } from '#kernel/money.ts'
import { Attempts, type Step } from './attempts.ts'
import { type Body, type Edit, locate, setField, splice } from './body.ts'
import { isWrapped, lossesOnTheWay } from './carriers/losses.ts'
import { costOf } from './cost.ts'
import type { Dialect, Reading } from './dialects/dialect.ts'
import type { Offer, Shape } from './directory.ts'
import { isRetryable, scrub } from './retry.ts'
import { type Candidate, newSeed, route } from './router.ts'
import type { AnswerAbout } from './shapes/about.ts'
import { ENVELOPE } from './shapes/envelope.ts'
import { isObject } from './shapes/json.ts'
import { takesStreamOptions } from './shapes/openai-chat/quirks.ts'
import { Translation, type Way, isServed, lossesHeader, lossless, travels } from './translate.ts'
import { Try } from './try.ts'
import type { Loss, UpstreamFault } from './turn.ts'
import type { Visit } from './visit.ts'

/** One call of a model through a surface: who may serve it, one try after the other, and the answer's head and end. */
export class Generation {
  readonly visit: Visit
  readonly body: Body
  readonly dialect: Dialect
  readonly model: string
  readonly streaming: boolean
  readonly #metered: boolean
  readonly #place: { start: number; end: number }
  /** OpenAI's shape says what was used only when asked: then it is asked for in the client's place. */
  readonly #usageEdit: Edit | null
  #seed = 0
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
    if (typeof model !== 'string' || model === '')
      refuse('missing_parameter', { message: 'You must provide a `model` parameter.', param: 'model' })
    this.model = model
    this.streaming = metered && stream === true && dialect.media === undefined
    this.#place = locate(body, 'model')
    this.#usageEdit = this.streaming && dialect.usageOption ? askForUsage(body) : null
  }

  /** What the provider says of usage only because the gateway asked is not for the client. */
  get hidesUsage(): boolean {
    return this.visit.surface.usageOnRequest && this.#usageEdit !== null
  }

  start(): void {
    const { visit } = this
    visit.onLeave(() => this.#left())
    visit.after(visit.gateway.directory.offers(visit.caller.principal, this.model), (offers) => {
      const candidates = this.#choose(offers)
      const strict = visit.request.headers['x-uk-strict'] === '1'
      this.#candidates = strict ? lossless(candidates, (offer) => this.#losses(this.#wayTo(offer), offer)) : candidates
      this.#begin(this.#candidates[0]!)
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
    if (only !== null && served(only)) return [{ offer: only, asked: this.model, variant: '', weight: 1, reason: '' }]
    const wish = { seed: this.#seed, needs: this.#needs() }
    const { candidates } = route(offers.filter(served), wish, gateway.health, this.model)
    if (candidates.length > 0) return candidates
    const shapes = [...new Set(offers.map(({ endpoint }) => endpoint.shape))].join(', ')
    return offers.some(served)
      ? refuse('no_route', { message: `No provider of \`${this.model}\` can serve this request.` })
      : refuse('unsupported_model', {
          message: surface.translates
            ? `\`${this.model}\` is served in the shape ${shapes}, which ${surface.name} does not translate to.`
            : `\`${this.model}\` does not serve ${this.dialect.path}.`,
          param: 'model',
        })
  }

  #needs(): string[] {
    const { tools } = this.body.json
    return Array.isArray(tools) && tools.length > 0 ? ['tools'] : []
  }

  /** How this offer is asked; null: with the client's own bytes. */
  #wayTo(offer: Offer): Way | null {
    const { surface } = this.visit
    // What was sealed for the client's keeping is nothing to a provider: a translation opens it.
    const sealed = surface.seals && this.body.source.includes(ENVELOPE)
    // Wrapped, a count would need a request of another kind: it is a guess.
    const counted = !this.#metered && isWrapped(offer.endpoint)
    return !sealed && !counted && travels(surface, offer) ? null : this.translation.to(offer)
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
      model: asked,
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
  bytesFor({ offer }: Candidate, limit: number | null): Buffer | string {
    const { body, dialect } = this
    const asking = takesStreamOptions(offer.endpoint.preset) ? this.#usageEdit : null
    const edits: Edit[] = asking === null ? [] : [asking]
    if (this.model !== offer.upstreamModel)
      edits.push({ ...this.#place, text: body.places ? offer.upstreamModel : JSON.stringify(offer.upstreamModel) })
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
    const losses = this.#losses(way, candidate.offer)
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

  #losses(way: Way | null, { endpoint }: Offer): readonly Loss[] {
    return way?.losses ?? lossesOnTheWay(endpoint, this.body.json, this.visit.request.headers)
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
