import type { IncomingHttpHeaders } from 'node:http'
import { Refusal } from '#kernel/errors.ts'
import { newId } from '#kernel/ids.ts'
import { toUsd } from '#kernel/money.ts'
import { RetryPolicy, type Step } from '../routing/retry.ts'
import type { Reading } from '../model/in-progress.ts'
import type { Shape } from '../model/offer.ts'
import { hideUsage } from '../passthrough/hide-usage.ts'
import { guessInput } from '../model/weigh.ts'
import type { Call } from './call.ts'
import { isRetryable } from '../model/fault-rules.ts'
import { scrub } from '../wire/scrub.ts'
import type { Candidate } from '../routing/router.ts'
import type { AnswerAbout } from '../model/answer-about.ts'
import type { Redraft } from '../passthrough/redraft.ts'
import type { Surface } from '../surfaces/surface.ts'
import { type Way, lossesHeader } from '../translation/translate.ts'
import { SurfaceAttempt } from './surface-attempt.ts'
import type { Loss, UpstreamFault } from '../model/canonical-request.ts'
import type { GatewayRequest } from '../request.ts'
import { patienceIn } from '../routing/constraints.ts'

const none: readonly never[] = []
/** Statuses of a path that is not there. */
const UNCOUNTED: ReadonlySet<number> = new Set([404, 405, 501])

/** One call of a model through a surface: one attempt after the other, and the answer's head and end. */
export class Generation {
  readonly request: GatewayRequest
  readonly call: Call
  #candidates: readonly Candidate[] = none
  // Made when the first one fails: most calls never need it.
  #policy: RetryPolicy | null = null
  #attempt: SurfaceAttempt | null = null
  /** Asked beside the first, because that one takes long. */
  #rival: SurfaceAttempt | null = null
  #waiting: NodeJS.Timeout | null = null
  #hedging: NodeJS.Timeout | null = null
  #pulse: NodeJS.Timeout | null = null

  constructor(call: Call) {
    this.request = call.request
    this.call = call
  }

  start(): void {
    this.request.onLeave(
      () => this.#left(),
      (failure) => this.#tell(failure),
    )
    this.call.candidates((candidates) => this.#go(candidates))
  }

  #go(candidates: readonly Candidate[]): void {
    // Who left while something was looked up is asked for nothing, and pays for nothing.
    if (this.request.closed) return
    this.#candidates = candidates
    const { surface, incoming } = this.request
    const { metered, streaming } = this.call
    const patience = patienceIn(incoming.headers['x-uk-hedge'])
    this.#begin(candidates[0]!)
    if (patience !== null && metered && candidates.length > 1) this.#hedging = setTimeout(() => this.#hedge(), patience)
    if (surface.keepAlive !== undefined && streaming) this.#keepAlive(surface.keepAlive)
  }

  #begin(candidate: Candidate): void {
    const { request } = this
    let way: Way | null
    try {
      way = this.call.wayTo(candidate.offer)
    } catch (error) {
      // What this one's shape has no place for, the next one's may have.
      const step = error instanceof Refusal && this.#candidates.length > 1 ? this.#plan().next() : null
      if (step === null) throw error
      return this.#take(step)
    }
    const id = this.#attempt === null ? request.id : newId()
    const startedAt = this.#attempt === null ? request.startedAt : performance.now()
    this.#attempt = new SurfaceAttempt(this, candidate, way, id, startedAt)
    const one = this.#attempt
    one.start((error) => {
      const rival = this.#rival
      if (one !== this.#attempt || rival === null) return this.#fail(error, candidate)
      // Without money for the first one the other goes on alone.
      this.#attempt = rival
      this.#rival = null
    })
  }

  /** The first has not begun in the time that it was given. */
  #hedge(): void {
    const { request } = this
    if (request.closed || request.response.writableEnded || this.#attempt?.over !== false) return
    const candidate = this.#plan().rival()
    if (candidate === null) return
    try {
      const rival = new SurfaceAttempt(this, candidate, this.call.wayTo(candidate.offer), newId(), performance.now())
      this.#rival = rival
      request.gateway.engine.metrics.gateway.further('hedge')
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
  #settleRace(winner: SurfaceAttempt): void {
    if (this.#hedging) clearTimeout(this.#hedging)
    if (this.#rival === null) return
    const loser = winner === this.#rival ? this.#attempt! : this.#rival
    this.#attempt = winner
    this.#rival = null
    const cost = loser.leave()
    const spent = cost === null ? '' : `; cost_usd=${toUsd(cost)}`
    this.request.head.push('x-uk-hedge', `provider=${loser.offer.endpoint.slug}${spent}`)
  }

  /** A client that waits is told that somebody is at work. */
  #keepAlive({ text, everyMs }: NonNullable<Surface['keepAlive']>): void {
    const { response, head } = this.request
    this.#pulse = setInterval(() => {
      if (this.request.closed || response.writableEnded) return this.#quiet()
      if (!response.headersSent) {
        head.push('content-type', 'text/event-stream; charset=utf-8', 'x-uk-route', this.call.routeTo(null))
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

  #plan(): RetryPolicy {
    const { startedAt, gateway } = this.request
    return (this.#policy ??= new RetryPolicy(this.#candidates, gateway.health, { startedAt }))
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
  redraftFor(one: SurfaceAttempt): Redraft | null {
    const { surface } = this.request
    const own = surface.redraft?.(this.#about(one), one.offer) ?? null
    // What the provider says of usage only because the gateway asked is not for the client.
    if (!surface.usageOnRequest || this.call.usageEdit === null) return own
    return { events: (events) => hideUsage(own === null ? events : own.events(events)) }
  }

  #about({ id, candidate }: SurfaceAttempt): AnswerAbout {
    return this.call.about(id, candidate)
  }

  /** An attempt's answer begins: the head of the client's. */
  begin(one: SurfaceAttempt, contentType: string, length: number | null, provider: IncomingHttpHeaders): void {
    const { request } = this
    const { candidate, way } = one
    this.#settleRace(one)
    if (this.#pulse) clearInterval(this.#pulse)
    const { head } = request
    const { endpoint } = candidate.offer
    if (request.surface.head !== undefined) head.push(...request.surface.head(one.id))
    head.push('content-type', contentType, 'x-uk-route', this.call.routeTo(candidate))
    if (length !== null) head.push('content-length', String(length))
    if (this.call.format.media) head.push('x-content-type-options', 'nosniff')
    const losses = this.call.lossesTo(candidate.offer, way)
    if (losses.length > 0) this.#declare(losses, endpoint.shape)
    if (contentType.startsWith('text/event-stream')) head.push('cache-control', 'no-cache', 'x-accel-buffering', 'no')
    // How much of its quota is left, and whose it is, says something only to who owns the account.
    if (endpoint.billing === 'byok')
      for (const name in provider)
        if (name.startsWith('x-ratelimit-') || name.startsWith('anthropic-') || name.startsWith('openai-'))
          head.push(name, String(provider[name]))
    if (!request.response.headersSent) request.response.writeHead(200, head)
    if (this.call.streaming) request.watchRights(endpoint.id)
  }

  #declare(losses: readonly Loss[], shape: Shape): void {
    const { head, gateway, surface } = this.request
    head.push('x-uk-losses', lossesHeader(losses))
    for (const name of losses) gateway.engine.metrics.loss(surface.name, shape, name)
  }

  /** An attempt came to nothing, and the client has seen nothing of it. */
  failed(one: SurfaceAttempt, why: UpstreamFault): void {
    const { request } = this
    const { candidate } = one
    const { count } = request.surface
    // Many who speak a vendor's shape do not count for it.
    if (!this.call.metered && count !== null && UNCOUNTED.has(why.status ?? 0)) {
      request.over()
      return request.json(200, count.write(guessInput(this.call.body.json)))
    }
    const { gateway: tallies } = request.gateway.engine.metrics
    const policy = this.#plan()
    policy.failed(candidate, why)
    tallies.fault(why.kind)
    this.call.forgetCache()
    const other = one === this.#rival ? this.#attempt : this.#rival
    this.#rival = null
    if (other !== null && !other.over) {
      this.#attempt = other
      return
    }
    const step = request.closed ? null : policy.next()
    if (step !== null) {
      tallies.further(step.candidate === candidate ? 'retry' : 'fallback')
      return this.#take(step)
    }
    const fault = scrub(why, candidate.offer.endpoint)
    const spent = policy.failures > 1 && isRetryable(fault)
    const previous = policy.previous.map(({ candidate: { offer }, fault: earlier }) => ({
      provider: offer.endpoint.slug,
      message: scrub(earlier, offer.endpoint).message,
      status: earlier.status ?? null,
    }))
    this.#fail({ ...fault, provider: candidate.offer.endpoint.slug, previous }, candidate, spent)
  }

  #fail(failure: unknown, candidate: Candidate, spent = false): void {
    this.#quiet()
    this.#tell(failure, { 'x-uk-route': this.call.routeTo(candidate), ...(spent && { 'x-should-retry': 'false' }) })
  }

  #tell(failure: unknown, headers: Record<string, string> = {}): void {
    const { request } = this
    // Once the head has left, a stream is what is left to say it in.
    if (request.response.headersSent && this.call.streaming && this.#attempt !== null) {
      request.over()
      request.response.end(request.surface.stream(this.#about(this.#attempt), false, request.id).fail(failure))
    } else request.fail(failure, headers)
  }

  /** An attempt's answer is over; with a fault it broke off, and the client's stream is still open for a last frame. */
  ended(one: SurfaceAttempt, reading: Reading, why: UpstreamFault | null): void {
    const { request } = this
    const { surface, response } = request
    request.over()
    if (!this.call.streaming || response.writableEnded) return
    const { endpoint } = one.offer
    if (why)
      response.end(
        surface.stream(this.#about(one), false, request.id).fail({ ...scrub(why, endpoint), provider: endpoint.slug }),
      )
    else if (surface.closing !== null && reading.fault === null && !reading.closed) response.end(surface.closing)
    else response.end()
  }

  /** The client has left before the end: it pays for what was produced. */
  #left(): void {
    this.#quiet()
    this.#attempt?.leave()
    this.#rival?.leave()
  }
}
