import type { IncomingHttpHeaders } from 'node:http'
import { Refusal } from '#kernel/errors.ts'
import { newId } from '#kernel/ids.ts'
import { toUsd } from '#kernel/money.ts'
import { Attempts, type Step } from '../routing/retry.ts'
import type { Reading } from '../passthrough/formats/format.ts'
import type { Shape } from '../model/offer.ts'
import { hideUsage } from '../passthrough/hide-usage.ts'
import { guessInput } from './metering.ts'
import type { Question } from './call.ts'
import { isRetryable, scrub } from '../model/fault-rules.ts'
import type { Candidate } from '../routing/router.ts'
import type { AnswerAbout } from '../model/answer-about.ts'
import type { Redraft, Surface } from '../surfaces/surface.ts'
import { type Way, lossesHeader } from '../translation/translate.ts'
import { Try } from './surface-attempt.ts'
import type { Loss, UpstreamFault } from '../model/canonical-request.ts'
import type { Visit } from '../request.ts'
import { patienceIn } from '../routing/constraints.ts'

const none: readonly never[] = []
/** Statuses of a path that is not there. */
const UNCOUNTED: ReadonlySet<number> = new Set([404, 405, 501])

/** One call of a model through a surface: one try after the other, and the answer's head and end. */
export class Generation {
  readonly visit: Visit
  readonly question: Question
  #candidates: readonly Candidate[] = none
  // Made when the first one fails: most calls never need it.
  #attempts: Attempts | null = null
  #try: Try | null = null
  /** Asked beside the first, because that one takes long. */
  #rival: Try | null = null
  #waiting: NodeJS.Timeout | null = null
  #hedging: NodeJS.Timeout | null = null
  #pulse: NodeJS.Timeout | null = null

  constructor(question: Question) {
    this.visit = question.visit
    this.question = question
  }

  start(): void {
    this.visit.onLeave(
      () => this.#left(),
      (failure) => this.#tell(failure),
    )
    this.question.candidates((candidates) => this.#go(candidates))
  }

  #go(candidates: readonly Candidate[]): void {
    // Who left while something was looked up is asked for nothing, and pays for nothing.
    if (this.visit.closed) return
    this.#candidates = candidates
    const { surface, request } = this.visit
    const { metered, streaming } = this.question
    const patience = patienceIn(request.headers['x-uk-hedge'])
    this.#begin(candidates[0]!)
    if (patience !== null && metered && candidates.length > 1) this.#hedging = setTimeout(() => this.#hedge(), patience)
    if (surface.keepAlive !== undefined && streaming) this.#keepAlive(surface.keepAlive)
  }

  #begin(candidate: Candidate): void {
    const { visit } = this
    let way: Way | null
    try {
      way = this.question.wayTo(candidate.offer)
    } catch (error) {
      // What this one's shape has no place for, the next one's may have.
      const step = error instanceof Refusal && this.#candidates.length > 1 ? this.#plan().next() : null
      if (step === null) throw error
      return this.#take(step)
    }
    const id = this.#try === null ? visit.id : newId()
    const startedAt = this.#try === null ? visit.startedAt : performance.now()
    this.#try = new Try(this, candidate, way, id, startedAt)
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
      const rival = new Try(this, candidate, this.question.wayTo(candidate.offer), newId(), performance.now())
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
        head.push('content-type', 'text/event-stream; charset=utf-8', 'x-uk-route', this.question.routeTo(null))
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

  /** What is changed in an answer that passes as it is. */
  redraftFor(one: Try): Redraft | null {
    const { surface } = this.visit
    const own = surface.redraft?.(this.#about(one), one.offer) ?? null
    // What the provider says of usage only because the gateway asked is not for the client.
    if (!surface.usageOnRequest || this.question.usageEdit === null) return own
    return { events: (events) => hideUsage(own === null ? events : own.events(events)) }
  }

  #about({ id, candidate }: Try): AnswerAbout {
    return this.question.about(id, candidate)
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
    head.push('content-type', contentType, 'x-uk-route', this.question.routeTo(candidate))
    if (length !== null) head.push('content-length', String(length))
    if (this.question.dialect.media) head.push('x-content-type-options', 'nosniff')
    const losses = this.question.lossesTo(candidate.offer, way)
    if (losses.length > 0) this.#declare(losses, endpoint.shape)
    if (contentType.startsWith('text/event-stream')) head.push('cache-control', 'no-cache', 'x-accel-buffering', 'no')
    // How much of its quota is left, and whose it is, says something only to who owns the account.
    if (endpoint.billing === 'byok')
      for (const name in provider)
        if (name.startsWith('x-ratelimit-') || name.startsWith('anthropic-') || name.startsWith('openai-'))
          head.push(name, String(provider[name]))
    if (!visit.response.headersSent) visit.response.writeHead(200, head)
    if (this.question.streaming) visit.watchRights(endpoint.id)
  }

  #declare(losses: readonly Loss[], shape: Shape): void {
    const { head, gateway, surface } = this.visit
    head.push('x-uk-losses', lossesHeader(losses))
    for (const name of losses) gateway.engine.metrics.loss(surface.name, shape, name)
  }

  /** A try came to nothing, and the client has seen nothing of it. */
  failed(one: Try, why: UpstreamFault): void {
    const { visit } = this
    const { candidate } = one
    const { count } = visit.surface
    // Many who speak a vendor's shape do not count for it.
    if (!this.question.metered && count !== null && UNCOUNTED.has(why.status ?? 0)) {
      visit.over()
      return visit.json(200, count.write(guessInput(this.question.body.json)))
    }
    const { gateway: tallies } = visit.gateway.engine.metrics
    const attempts = this.#plan()
    attempts.failed(candidate, why)
    tallies.fault(why.kind)
    this.question.cool()
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
    this.#tell(failure, { 'x-uk-route': this.question.routeTo(candidate), ...(spent && { 'x-should-retry': 'false' }) })
  }

  #tell(failure: unknown, headers: Record<string, string> = {}): void {
    const { visit } = this
    // Once the head has left, a stream is what is left to say it in.
    if (visit.response.headersSent && this.question.streaming && this.#try !== null) {
      visit.over()
      visit.response.end(visit.surface.stream(this.#about(this.#try), false, visit.id).fail(failure))
    } else visit.fail(failure, headers)
  }

  /** A try's answer is over; with a fault it broke off, and the client's stream is still open for a last frame. */
  ended(one: Try, reading: Reading, why: UpstreamFault | null): void {
    const { visit } = this
    const { surface, response } = visit
    visit.over()
    if (!this.question.streaming || response.writableEnded) return
    const { endpoint } = one.offer
    if (why)
      response.end(
        surface.stream(this.#about(one), false, visit.id).fail({ ...scrub(why, endpoint), provider: endpoint.slug }),
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
