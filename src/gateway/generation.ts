import type { IncomingHttpHeaders } from 'node:http'
import { Refusal, refuse } from '#kernel/errors.ts'
import { newId } from '#kernel/ids.ts'
import { toUsd } from '#kernel/money.ts'
import type { Usage } from '#kernel/usage.ts'
import { Attempts, type Step } from './attempts.ts'
import { type Body, type Edit, locate } from './body.ts'
import { isWrapped, lossesOnTheWay } from './carriers/losses.ts'
import { choose } from './choose.ts'
import { costOf } from './cost.ts'
import type { Dialect, Reading } from './dialects/dialect.ts'
import type { Offer, Shape } from './directory.ts'
import { namesAddress } from './fetched-media.ts'
import { hideUsage } from './hide-usage.ts'
import { isRetryable, scrub } from './retry.ts'
import { type Asked, type Candidate, newSeed } from './router.ts'
import type { AnswerAbout } from './shapes/about.ts'
import { refusesHistory } from './shapes/openai-chat/quirks.ts'
import type { Demands, Redraft, Surface } from './surfaces/surface.ts'
import { Translation, type Way, isServed, lossesHeader, lossless, travels } from './translate.ts'
import { askForUsage } from './travelling-bytes.ts'
import { Try } from './try.ts'
import type { Loss, UpstreamFault } from './turn.ts'
import { askedModels } from './variants.ts'
import type { Visit } from './visit.ts'
import { conversationOf } from './warmth.ts'
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
  readonly place: { start: number; end: number } | null
  /** OpenAI's shape says what was used only when asked: then it is asked for in the client's place. */
  readonly usageEdit: Edit | null
  #seed = 0
  #unserved: readonly string[] = none
  #candidates: readonly Candidate[] = []
  // Made when the first one fails: most calls never need it.
  #attempts: Attempts | null = null
  #try: Try | null = null
  #translation: Translation | null = null
  /** Asked beside the first, because that one takes long. */
  #rival: Try | null = null
  #waiting: NodeJS.Timeout | null = null
  #hedging: NodeJS.Timeout | null = null
  #pulse: NodeJS.Timeout | null = null
  /** Null: one offer alone can serve, or nothing tells this conversation from others. */
  #conversation: string | null = null

  /** `metered` false: tokens are counted and nothing is generated or charged. */
  constructor(visit: Visit, body: Body, dialect: Dialect, metered: boolean) {
    this.visit = visit
    this.body = body
    this.dialect = dialect
    this.#metered = metered
    const { model, stream } = body.json
    visit.surface.refuseHead?.(visit.request.headers)
    this.#demands = visit.surface.demands?.(body) ?? null
    const named = this.#demands === null ? (model ?? dialect.usualModel) : this.#demands.models[0]
    if (typeof named !== 'string' || named === '')
      refuse('missing_parameter', { message: 'You must provide a `model` parameter.', param: 'model' })
    this.model = named
    this.streaming = metered && stream === true && dialect.media === undefined
    this.place = Object.hasOwn(body.json, 'model') ? locate(body, 'model') : null
    this.usageEdit = this.streaming && dialect.usageOption ? askForUsage(body) : null
  }

  /** What is changed in an answer that passes as it is. */
  redraftFor(one: Try): Redraft | null {
    const { surface } = this.visit
    const own = surface.redraft?.(this.about(one)) ?? null
    // What the provider says of usage only because the gateway asked is not for the client.
    if (!surface.usageOnRequest || this.usageEdit === null) return own
    return { events: (events) => hideUsage(own === null ? events : own.events(events)) }
  }

  start(): void {
    const { visit } = this
    visit.onLeave(
      () => this.#left(),
      (failure) => this.#tell(failure),
    )
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
    const { surface, request } = this.visit
    const patience = patienceIn(request.headers['x-uk-hedge'])
    this.#begin(this.#candidates[0]!)
    if (patience !== null && this.#metered && this.#candidates.length > 1)
      this.#hedging = setTimeout(() => this.#hedge(), patience)
    if (surface.keepAlive !== undefined && this.streaming) this.#keepAlive(surface.keepAlive)
  }

  /** Most models are served by one offer alone, which then is asked whatever old data says that it cannot do. */
  #only(offers: readonly Offer[]): readonly Candidate[] | null {
    const [offer] = offers
    if (offers.length !== 1 || !isServed(this.visit.surface, offer!)) return null
    this.#seed = this.#seedAsked()
    return [{ offer: offer!, asked: this.model, variant: '', weight: 1, reason: '' }]
  }

  #choose(asked: readonly Asked[]): readonly Candidate[] {
    const { surface, gateway, caller, request } = this.visit
    this.#seed = this.#seedAsked()
    this.#conversation = conversationOf(caller.limitId, this.body.json, request.headers['x-session-id'])
    const warm = this.#conversation === null ? null : gateway.warmth.of(this.#conversation)
    const wish = {
      ...(warm !== null && { warm }),
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
    const averse = refusesHistory(offer.endpoint.preset, this.body.source)
    const asIs =
      travels(surface, offer) &&
      !counted &&
      !averse &&
      !namesAddress(this.body, offer.endpoint) &&
      !surface.foreign(this.body, offer.endpoint.billing)
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
    const one = this.#try
    one.start((error) => {
      const rival = this.#rival
      if (one !== this.#try || rival === null) return this.#fail(error, candidate)
      // Without money for the first one the other goes on alone.
      this.#try = rival
      this.#rival = null
    })
  }

  /** The first has not begun in the time that it was given. */
  #hedge(): void {
    const { visit } = this
    if (visit.closed || visit.response.writableEnded || this.#try?.over !== false) return
    const candidate = this.#plan().rival()
    if (candidate === null) return
    try {
      const rival = new Try(this, candidate, this.#wayTo(candidate.offer), newId(), this.#metered, performance.now())
      this.#rival = rival
      visit.gateway.engine.metrics.gateway.further('hedge')
      // Without money for two the first one goes on alone.
      rival.start((error) => {
        if (this.#rival === rival) this.#rival = null
        else this.#fail(error, candidate)
      })
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      this.#rival = null
    }
  }

  /** The one that began first is heard, the other one left: what it cost is told. */
  #settleRace(winner: Try): void {
    if (this.#hedging) clearTimeout(this.#hedging)
    if (this.#rival === null) return
    const loser = winner === this.#rival ? this.#try! : this.#rival
    this.#try = winner
    this.#rival = null
    const cost = loser.leave()
    const spent = cost === null ? '' : `; cost_usd=${toUsd(cost)}`
    this.visit.head.push('x-uk-hedge', `provider=${loser.offer.endpoint.slug}${spent}`)
  }

  /** A client that waits is told that somebody is at work. */
  #keepAlive({ text, everyMs }: NonNullable<Surface['keepAlive']>): void {
    const { response, head } = this.visit
    this.#pulse = setInterval(() => {
      if (this.visit.closed || response.writableEnded) return this.#quiet()
      if (!response.headersSent) {
        head.push('content-type', 'text/event-stream; charset=utf-8', 'x-uk-route', `seed=${this.#seed}`)
        head.push('cache-control', 'no-cache', 'x-accel-buffering', 'no')
        response.writeHead(200, head)
      }
      response.write(text)
    }, everyMs)
  }

  #quiet(): void {
    if (this.#pulse) clearInterval(this.#pulse)
    if (this.#hedging) clearTimeout(this.#hedging)
    if (this.#waiting) clearTimeout(this.#waiting)
  }

  /** What this answer's cache usage tells of where the conversation is held. */
  warm(offer: Offer, usage: Usage): void {
    if (this.#conversation !== null) this.visit.gateway.warmth.note(this.#conversation, offer, usage)
  }

  cool(): void {
    if (this.#conversation !== null) this.visit.gateway.warmth.cool(this.#conversation)
  }

  #plan(): Attempts {
    const { startedAt, gateway } = this.visit
    return (this.#attempts ??= new Attempts(this.#candidates, gateway.health, { startedAt }))
  }

  #take({ candidate, waitMs }: Step): void {
    const again = (): void => {
      try {
        this.#begin(candidate)
      } catch (error) {
        this.#fail(error, candidate)
      }
    }
    if (waitMs === 0) again()
    else this.#waiting = setTimeout(again, waitMs)
  }

  about({ id, candidate: { offer, asked } }: Try): AnswerAbout {
    return {
      id,
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

  /** The client's body, without what only means something here. */
  bodyFor(offer: Offer): Body {
    return this.#demands === null ? this.body : this.#demands.bodyFor(offer, this.#unserved)
  }

  /** A try's answer begins: the head of the client's. */
  begin(one: Try, contentType: string, length: number | null, provider: IncomingHttpHeaders): void {
    const { visit } = this
    const { candidate, way } = one
    this.#settleRace(one)
    if (this.#pulse) clearInterval(this.#pulse)
    const { head } = visit
    const { endpoint } = candidate.offer
    if (visit.surface.head !== undefined) head.push(...visit.surface.head(one.id))
    head.push('content-type', contentType, 'x-uk-route', this.#route(candidate))
    if (length !== null) head.push('content-length', String(length))
    if (this.dialect.media) head.push('x-content-type-options', 'nosniff')
    const losses = this.#lossesTo(candidate.offer, way)
    if (losses.length > 0) this.#declare(losses, endpoint.shape)
    if (contentType.startsWith('text/event-stream')) head.push('cache-control', 'no-cache', 'x-accel-buffering', 'no')
    // How much of its quota is left, and whose it is, says something only to who owns the account.
    if (endpoint.billing === 'byok')
      for (const name in provider)
        if (name.startsWith('x-ratelimit-') || name.startsWith('anthropic-') || name.startsWith('openai-'))
          head.push(name, String(provider[name]))
    if (!visit.response.headersSent) visit.response.writeHead(200, head)
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
  failed(one: Try, why: UpstreamFault): void {
    const { visit } = this
    const { candidate } = one
    const { gateway: tallies } = visit.gateway.engine.metrics
    const attempts = this.#plan()
    attempts.failed(candidate, why)
    tallies.fault(why.kind)
    this.cool()
    const other = one === this.#rival ? this.#try : this.#rival
    this.#rival = null
    if (other !== null && !other.over) {
      this.#try = other
      return
    }
    const step = visit.closed ? null : attempts.next()
    if (step !== null) {
      tallies.further(step.candidate === candidate ? 'retry' : 'fallback')
      return this.#take(step)
    }
    const fault = scrub(why, candidate.offer.endpoint)
    const spent = attempts.failures > 1 && isRetryable(fault)
    const previous = attempts.previous.map(({ candidate: { offer }, fault: earlier }) => ({
      provider: offer.endpoint.slug,
      message: scrub(earlier, offer.endpoint).message,
      status: earlier.status ?? null,
    }))
    this.#fail({ ...fault, provider: candidate.offer.endpoint.slug, previous }, candidate, spent)
  }

  #fail(failure: unknown, candidate: Candidate, spent = false): void {
    this.#quiet()
    this.#tell(failure, { 'x-uk-route': this.#route(candidate), ...(spent && { 'x-should-retry': 'false' }) })
  }

  #tell(failure: unknown, headers: Record<string, string> = {}): void {
    const { visit } = this
    // Once the head has left, a stream is what is left to say it in.
    if (visit.response.headersSent && this.streaming && this.#try !== null) {
      visit.over()
      visit.response.end(visit.surface.stream(this.about(this.#try), false, visit.id).fail(failure))
    } else visit.fail(failure, headers)
  }

  /** A try's answer is over; with a fault it broke off, and the client's stream is still open for a last frame. */
  ended(one: Try, reading: Reading, why: UpstreamFault | null): void {
    const { visit } = this
    const { surface, response } = visit
    visit.over()
    if (!this.streaming || response.writableEnded) return
    const { endpoint } = one.offer
    if (why)
      response.end(
        surface.stream(this.about(one), false, visit.id).fail({ ...scrub(why, endpoint), provider: endpoint.slug }),
      )
    else if (surface.closing !== null && reading.fault === null && !reading.closed) response.end(surface.closing)
    else response.end()
  }

  /** The client has left before the end: it pays for what was produced. */
  #left(): void {
    this.#quiet()
    this.#try?.leave()
    this.#rival?.leave()
  }
}

/** `x-uk-hedge: 800`: after so many milliseconds without a first byte the next candidate is asked as well. */
function patienceIn(given: unknown): number | null {
  if (given === undefined) return null
  return typeof given === 'string' && /^\d{1,6}$/.test(given)
    ? Number(given)
    : refuse('invalid_parameter', { message: '`x-uk-hedge` must be a number of milliseconds.', param: 'x-uk-hedge' })
}
