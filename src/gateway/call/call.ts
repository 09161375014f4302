import type { IncomingHttpHeaders } from 'node:http'
import type { AnsweredRequest } from '#infra/ledger/ledger.ts'
import { Refusal } from '#core/errors.ts'
import { newId } from '#core/ids.ts'
import type { Loss, UpstreamFault } from '../model/canonical-request.ts'
import { isRetryable } from '../model/fault-rules.ts'
import { scrub } from '../wire/scrub.ts'
import type { Reading } from '../model/in-progress.ts'
import type { EndpointUse } from '../model/offer.ts'
import { RetryPolicy, type Step } from '../routing/retry.ts'
import type { Candidate } from '../routing/router.ts'
import type { TranslatedRequest } from '../translation/translate.ts'
import { Attempt, type AttemptOwner } from './attempt.ts'
import type { CallHandler } from './handler.ts'
import { type Ending, type Past, callEntry } from './log-entry.ts'

const none: readonly never[] = []

/**
 * A model call: one attempt after the other, or two that race, until an answer has started or no candidate remains.
 * Callbacks instead of promises, so that steps with available data run at once.
 */
export class Call implements AttemptOwner {
  readonly handler: CallHandler
  #candidates: readonly Candidate[] = none
  // Created when the first attempt fails: most calls never need it.
  #policy: RetryPolicy | null = null
  #attempt: Attempt | null = null
  #rival: Attempt | null = null
  #waiting: NodeJS.Timeout | null = null
  #hedging: NodeJS.Timeout | null = null
  #refusal: { error: unknown; candidate: Candidate } | null = null
  #past: Past[] | null = null
  #losses: readonly Loss[] = none
  #logged = false

  constructor(handler: CallHandler) {
    this.handler = handler
  }

  get attempt(): Attempt | null {
    return this.#attempt
  }

  get simple(): boolean {
    return this.#policy === null
  }

  /** `hedgeDelayMs`: the wait for a first byte before the next candidate is tried as well; null: forever. */
  start(candidates: readonly Candidate[], hedgeDelayMs: number | null): void {
    this.#candidates = candidates
    this.#begin(candidates[0]!)
    if (hedgeDelayMs !== null && candidates.length > 1) this.#hedging = setTimeout(() => this.#hedge(), hedgeDelayMs)
  }

  *uses(): Generator<EndpointUse> {
    for (const one of [this.#attempt, this.#rival])
      if (one?.over === false) yield { endpoint: one.offer.endpoint, gone: () => one.withdraw() }
  }

  leave(): void {
    this.#quiet()
    this.#attempt?.leave()
    this.#rival?.leave()
    if (this.#attempt !== null) this.#log({ status: 'cancelled' })
  }

  #begin(candidate: Candidate): void {
    const { request } = this.handler
    let translation: TranslatedRequest | null
    try {
      translation = request.translatedFor(candidate.offer)
    } catch (error) {
      // The next candidate's shape may support it.
      const step = error instanceof Refusal && this.#candidates.length > 1 ? this.#plan().next() : null
      if (step === null) throw error
      return this.#take(step)
    }
    const first = this.#attempt === null
    const attempt = new Attempt(
      this,
      candidate,
      translation,
      first ? request.id : newId(),
      first ? request.startedAt : performance.now(),
    )
    this.#attempt = attempt
    attempt.start((error) => this.#refused(attempt, error))
  }

  #hedge(): void {
    const { request } = this.handler
    if (request.gone || this.#attempt?.over !== false) return
    const candidate = this.#plan().rival()
    if (candidate === null) return
    try {
      const rival = new Attempt(this, candidate, request.translatedFor(candidate.offer), newId(), performance.now())
      this.#rival = rival
      request.gateway.engine.metrics.gateway.further('hedge')
      rival.start((error) => this.#refused(rival, error))
    } catch (error) {
      this.#rival = null
      if (!(error instanceof Refusal))
        request.gateway.engine.log.error({ error }, 'a hedged request to a second provider failed')
    }
  }

  #refused(one: Attempt, error: unknown): void {
    ;(this.#past ??= []).push({ attempt: one, outcome: 'refused', why: error, at: performance.now() })
    if (this.#goesOnWithout(one) || this.handler.request.gone) return
    this.#refusal ??= { error, candidate: one.candidate }
    // The next candidate may be affordable or free: a preview skips those that can't be paid.
    const step = error instanceof Refusal && error.status === 402 ? this.#plan().next() : null
    if (step !== null) this.#take(step)
    else this.#fail(this.#refusal.error, this.#refusal.candidate)
  }

  #goesOnWithout(one: Attempt): boolean {
    const other = one === this.#rival ? this.#attempt : this.#rival
    this.#rival = null
    if (other === null || other.over) return false
    this.#attempt = other
    return true
  }

  #plan(): RetryPolicy {
    const { startedAt, gateway } = this.handler.request
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

  begin(one: Attempt, contentType: string, length: number | null, provider: IncomingHttpHeaders): void {
    const { request, relay } = this.handler
    if (this.#hedging) clearTimeout(this.#hedging)
    if (this.#rival !== null) {
      const loser = one === this.#rival ? this.#attempt! : this.#rival
      this.#attempt = one
      this.#rival = null
      ;(this.#past ??= []).push({ attempt: loser, outcome: 'left', why: null, at: performance.now() })
      relay.hedgeLost?.(loser, loser.leave())
    }
    const losses = relay.lossesOf(one)
    this.#losses = losses
    for (const name of losses) request.gateway.engine.metrics.loss(request.surface, one.offer.endpoint.shape, name)
    relay.begin(one, losses, contentType, length, provider)
  }

  failed(one: Attempt, why: UpstreamFault, isFinal = false): void {
    const { request, relay } = this.handler
    if (relay.toleratesFault?.(why)) return
    const { candidate } = one
    const { gateway, conversation } = request
    const { gateway: tallies } = gateway.engine.metrics
    const policy = this.#plan()
    policy.failed(candidate, why)
    ;(this.#past ??= []).push({
      attempt: one,
      outcome: 'failed',
      why: scrub(why, candidate.offer.endpoint),
      at: performance.now(),
    })
    tallies.fault(why.kind)
    if (conversation !== null) gateway.cacheAffinity.forget(conversation)
    if (this.#goesOnWithout(one)) return
    const step = request.gone || isFinal ? null : policy.next()
    if (step !== null) {
      tallies.further(step.candidate === candidate ? 'retry' : 'fallback')
      return this.#take(step)
    }
    const { endpoint } = candidate.offer
    const fault = scrub(why, endpoint)
    const previous = policy.previous.map(({ candidate: { offer }, fault: earlier }) => ({
      provider: offer.endpoint.slug,
      message: scrub(earlier, offer.endpoint).message,
      status: earlier.status ?? null,
    }))
    const isExhausted = policy.failures > 1 && isRetryable(fault)
    this.#fail({ ...fault, provider: endpoint.slug, previous }, candidate, isExhausted)
  }

  logInRecord({ candidate }: Attempt): AnsweredRequest | null {
    const { request } = this.handler
    if (this.#past !== null || this.#losses.length > 0 || !request.gateway.engine.requestLog.isEnabled) return null
    this.#logged = true
    const { path, model, bytes } = request.asked()
    return { path, askedModel: model, bytes, why: candidate.reason }
  }

  ended(one: Attempt, reading: Reading, why: UpstreamFault | null): void {
    const breakFault = why ?? reading.fault
    this.#log(
      breakFault === null
        ? { status: 'succeeded' }
        : { status: 'failed', failure: scrub(breakFault, one.offer.endpoint) },
    )
    this.handler.relay.ended(one, reading, why)
  }

  #fail(failure: unknown, candidate: Candidate, isExhausted = false): void {
    this.#quiet()
    this.#log({ status: 'failed', failure })
    this.handler.relay.failed(failure, candidate, isExhausted)
  }

  #log(ending: Ending): void {
    if (this.#logged) return
    this.#logged = true
    const { request } = this.handler
    const entry = callEntry(request, { ...ending, last: this.#attempt, past: this.#past ?? none, losses: this.#losses })
    request.gateway.engine.requestLog.add(entry)
  }

  #quiet(): void {
    if (this.#hedging) clearTimeout(this.#hedging)
    if (this.#waiting) clearTimeout(this.#waiting)
  }
}
