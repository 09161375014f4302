import type { IncomingHttpHeaders } from 'node:http'
import { Refusal } from '#kernel/errors.ts'
import { newId } from '#kernel/ids.ts'
import type { UpstreamFault } from '../model/canonical-request.ts'
import { isRetryable } from '../model/fault-rules.ts'
import { scrub } from '../wire/scrub.ts'
import type { Reading } from '../model/in-progress.ts'
import { RetryPolicy, type Step } from '../routing/retry.ts'
import type { Candidate } from '../routing/router.ts'
import type { TranslatedRequest } from '../translation/translate.ts'
import { type Asker, Attempt, type AttemptOwner } from './attempt.ts'

const none: readonly Candidate[] = []

/**
 * One call of a model, whoever asks: one attempt after the other, or two that race, until an answer has begun or nobody
 * is left to ask. No promise is made where the next step can be taken at once.
 */
export class Call implements AttemptOwner {
  readonly asker: Asker
  #candidates = none
  // Made when the first one fails: most calls never need it.
  #policy: RetryPolicy | null = null
  #attempt: Attempt | null = null
  /** Asked beside the first, because that one takes long. */
  #rival: Attempt | null = null
  #waiting: NodeJS.Timeout | null = null
  #hedging: NodeJS.Timeout | null = null

  constructor(asker: Asker) {
    this.asker = asker
  }

  /** The one that is heard, or was asked last. */
  get attempt(): Attempt | null {
    return this.#attempt
  }

  /** Asks the first of these. `patienceMs`: after so long without a first byte the next one is asked as well; null: never. */
  start(candidates: readonly Candidate[], patienceMs: number | null): void {
    this.#candidates = candidates
    this.#begin(candidates[0]!)
    if (patienceMs !== null && candidates.length > 1) this.#hedging = setTimeout(() => this.#hedge(), patienceMs)
  }

  /** Nobody wants the answer any more: what was produced is paid for. */
  leave(): void {
    this.#quiet()
    this.#attempt?.leave()
    this.#rival?.leave()
  }

  #begin(candidate: Candidate): void {
    const { asker } = this
    let translated: TranslatedRequest | null
    try {
      translated = asker.translatedFor(candidate.offer)
    } catch (error) {
      // The next one's shape may have a place for it.
      const step = error instanceof Refusal && this.#candidates.length > 1 ? this.#plan().next() : null
      if (step === null) throw error
      return this.#take(step)
    }
    const first = this.#attempt === null
    const attempt = new Attempt(
      this,
      candidate,
      translated,
      first ? asker.id : newId(),
      first ? asker.startedAt : performance.now(),
    )
    this.#attempt = attempt
    attempt.start((error) => {
      const rival = this.#rival
      if (attempt !== this.#attempt || rival === null) return this.#fail(error, candidate)
      // Without money for the first one the other goes on alone.
      this.#attempt = rival
      this.#rival = null
    })
  }

  /** The first has not begun in the time that it was given. */
  #hedge(): void {
    const { asker } = this
    if (asker.gone || this.#attempt?.over !== false) return
    const candidate = this.#plan().rival()
    if (candidate === null) return
    try {
      const rival = new Attempt(this, candidate, asker.translatedFor(candidate.offer), newId(), performance.now())
      this.#rival = rival
      asker.gateway.engine.metrics.gateway.further('hedge')
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

  #plan(): RetryPolicy {
    const { startedAt, gateway } = this.asker
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

  /** An attempt's answer begins. Of two that race the other one is left. */
  begin(one: Attempt, contentType: string, length: number | null, provider: IncomingHttpHeaders): void {
    const { asker } = this
    if (this.#hedging) clearTimeout(this.#hedging)
    if (this.#rival !== null) {
      const loser = one === this.#rival ? this.#attempt! : this.#rival
      this.#attempt = one
      this.#rival = null
      asker.outrun?.(loser, loser.leave())
    }
    const losses = asker.lossesOf(one)
    for (const name of losses) asker.gateway.engine.metrics.loss(asker.surface, one.offer.endpoint.shape, name)
    asker.begin(one, losses, contentType, length, provider)
  }

  /** An attempt came to nothing, and nobody has seen anything of it. */
  failed(one: Attempt, why: UpstreamFault): void {
    const { asker } = this
    if (asker.makesDo?.(why)) return
    const { candidate } = one
    const { gateway, conversation } = asker
    const { gateway: tallies } = gateway.engine.metrics
    const policy = this.#plan()
    policy.failed(candidate, why)
    tallies.fault(why.kind)
    if (conversation !== null) gateway.cacheAffinity.forget(conversation)
    const other = one === this.#rival ? this.#attempt : this.#rival
    this.#rival = null
    if (other !== null && !other.over) {
      this.#attempt = other
      return
    }
    const step = asker.gone ? null : policy.next()
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
    const exhausted = policy.failures > 1 && isRetryable(fault)
    this.#fail({ ...fault, provider: endpoint.slug, previous }, candidate, exhausted)
  }

  ended(one: Attempt, reading: Reading, why: UpstreamFault | null): void {
    this.asker.ended(one, reading, why)
  }

  #fail(failure: unknown, candidate: Candidate, exhausted = false): void {
    this.#quiet()
    this.asker.failed(failure, candidate, exhausted)
  }

  #quiet(): void {
    if (this.#hedging) clearTimeout(this.#hedging)
    if (this.#waiting) clearTimeout(this.#waiting)
  }
}
