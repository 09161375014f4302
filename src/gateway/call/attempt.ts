import type { IncomingHttpHeaders } from 'node:http'
import type { AnsweredRequest } from '#infra/ledger/ledger.ts'
import { Refusal } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import type { Nano } from '#core/money.ts'
import type { Usage } from '#core/usage.ts'
import type { UpstreamFault } from '../model/canonical-request.ts'
import type { AnswerInProgress, Reading } from '../model/in-progress.ts'
import type { Offer } from '../model/offer.ts'
import type { Candidate } from '../routing/router.ts'
import type { TranslatedRequest } from '../translation/translate.ts'
import type { CallHandler, HandledAttempt } from './handler.ts'
import { Metering } from './money/metering.ts'
import { billedUsage } from './money/settle.ts'

export interface AttemptOwner {
  readonly handler: CallHandler
  begin(attempt: Attempt, contentType: string, length: number | null, provider: IncomingHttpHeaders): void
  /** `isFinal`: the request may have been executed and is billed, so no other candidate is tried. */
  failed(attempt: Attempt, fault: UpstreamFault, isFinal?: boolean): void
  logInRecord(attempt: Attempt): AnsweredRequest | null
  ended(attempt: Attempt, reading: Reading, fault: UpstreamFault | null): void
}

export const WITHDRAWN: UpstreamFault = {
  kind: 'withdrawn',
  message: 'The provider endpoint was disabled or deleted.',
}

/**
 * Reserves money, sends the request to one candidate, and reports the result to health, cache affinity, and the ledger.
 */
export class Attempt implements HandledAttempt {
  readonly id: Id
  readonly candidate: Candidate
  readonly translated: TranslatedRequest | null
  readonly startedAt: number
  readonly #call: AttemptOwner
  readonly #handler: CallHandler
  readonly #metering: Metering | null
  #answer: AnswerInProgress | null = null
  #inputTokens = 0
  #beganAt = 0
  #over = false
  #withdrawn = false
  #settled: { usage: Usage; cost: Nano | null } | null = null

  constructor(
    call: AttemptOwner,
    candidate: Candidate,
    translation: TranslatedRequest | null,
    id: Id,
    startedAt: number,
  ) {
    this.#call = call
    this.#handler = call.handler
    this.id = id
    this.candidate = candidate
    this.translated = translation
    this.startedAt = startedAt
    const { gateway, payer, surface, metered: isMetered } = call.handler.request
    this.#metering = isMetered ? new Metering(gateway.engine.ledger, candidate.offer, { id, payer, surface }) : null
  }

  get offer(): Offer {
    return this.candidate.offer
  }

  get over(): boolean {
    return this.#over
  }

  get settled(): { usage: Usage; cost: Nano | null } | null {
    return this.#settled
  }

  /** Throws immediate refusals; later ones go to `onRefused`. Attempts without a reservation are sent at once. */
  start(onRefused: (error: unknown) => void): void {
    const metering = this.#metering
    if (metering === null || !metering.guarded) return this.#send(null)
    this.#reserveAndSend(metering).catch((error: unknown) => {
      if (!this.#over) onRefused(error)
    })
  }

  async #reserveAndSend(metering: Metering): Promise<void> {
    const limit = await this.#reserve(metering)
    if (this.#over || this.#handler.request.gone) return metering.release()
    if (!this.#withdrawn) return this.#send(limit)
    metering.release()
    this.#over = true
    this.#call.failed(this, WITHDRAWN)
  }

  async #reserve(metering: Metering): Promise<number | null> {
    const rough = this.#handler.money.roughInputBound?.(this) ?? null
    if (rough !== null && (await this.#reserveRoughly(metering, rough))) return null
    this.#inputTokens = this.#handler.money.inputBound(this)
    return metering.reserve(this.#handler.money.worstCase(this, this.#inputTokens))
  }

  /** False: the money doesn't cover a rough bound, but may cover an exact one. */
  async #reserveRoughly(metering: Metering, inputTokens: number): Promise<boolean> {
    const worst = this.#handler.money.worstCase(this, inputTokens)
    if (!('maxTokens' in worst)) return false
    this.#inputTokens = inputTokens
    try {
      await metering.reserveWhole(worst)
      return true
    } catch (error) {
      if (error instanceof Refusal && error.type === 'payment_required') return false
      throw error
    }
  }

  #send(limit: number | null): void {
    try {
      this.#handler.relay.send(this, limit)
    } catch (error) {
      this.#metering?.release()
      throw error
    }
  }

  sent(answer: AnswerInProgress): void {
    this.#answer = answer
    this.#metering?.sent(this.#inputTokens, answer)
  }

  begin(contentType: string, length: number | null, provider: IncomingHttpHeaders): void {
    this.#beganAt = performance.now()
    this.#call.begin(this, contentType, length, provider)
  }

  failed(fault: UpstreamFault, isUnclear = false): void {
    this.#over = true
    this.#answer = null
    const { gateway, surface, streaming } = this.#handler.request
    if (this.#metering !== null) {
      gateway.engine.metrics.gateway.call(surface, 'failed', null)
      this.#metering.fail(performance.now() - this.startedAt, streaming, isUnclear)
    }
    this.#call.failed(this, fault, isUnclear && this.#metering?.isWhole === true)
  }

  ended(reading: Reading, why: UpstreamFault | null, firstByteAt: number, characters: number): void {
    this.#over = true
    this.#answer = null
    const breakFault = why ?? reading.fault
    const { gateway, conversation } = this.#handler.request
    if (breakFault === null) {
      const now = performance.now()
      const outputTokens = reading.usage?.output_tokens ?? 0
      gateway.health.succeeded(this.offer, firstByteAt - this.startedAt, now - this.startedAt, outputTokens, now)
      if (conversation !== null && reading.usage !== null)
        gateway.cacheAffinity.note(conversation, this.offer, reading.usage)
    } else {
      gateway.health.failed(this.offer, breakFault)
      if (conversation !== null) gateway.cacheAffinity.forget(conversation)
    }
    // Settles first: the listener may read the cost, and may not return here.
    this.#settle(reading, breakFault === null ? 'succeeded' : 'failed', firstByteAt, characters)
    this.#call.ended(this, reading, why)
  }

  /** Another candidate is tried if nothing was shown yet; else the answer ends here. */
  withdraw(): void {
    if (this.#over || this.#withdrawn) return
    this.#withdrawn = true
    if (this.#beganAt > 0) return this.#handler.relay.withdrawn?.()
    // Nothing was sent during the reservation.
    if (this.#answer === null) return
    this.#answer.leave()
    this.failed(WITHDRAWN)
  }

  leave(): Nano | null {
    this.#over = true
    const answer = this.#answer
    if (answer === null) return 0n
    this.#answer = null
    const { reading, characters } = answer.leave()
    return this.#settle(reading, 'cancelled', this.#beganAt, characters)
  }

  #settle(
    reading: Reading,
    status: 'succeeded' | 'failed' | 'cancelled',
    firstByteAt: number,
    characters: number,
  ): Nano | null {
    const metering = this.#metering
    if (metering === null) return 0n
    const { request, money } = this.#handler
    const firstByteMs = firstByteAt === 0 ? null : firstByteAt - request.startedAt
    request.gateway.engine.metrics.gateway.call(request.surface, status, firstByteMs)
    const { usage, estimated: isEstimated } = billedUsage(reading, status === 'succeeded', characters, money)
    const cost = metering.settle({
      status,
      usage,
      reportedUsd: reading.reportedUsd,
      media: reading.media,
      priced: reading.priced,
      unpriced: reading.unpriced === true,
      estimated: isEstimated,
      finishReason: reading.finishReason,
      firstTokenMs: firstByteAt === 0 ? null : firstByteAt - this.startedAt,
      durationMs: performance.now() - this.startedAt,
      streamed: request.streaming,
      request: status === 'succeeded' ? this.#call.logInRecord(this) : null,
    })
    this.#settled = { usage, cost }
    return cost
  }
}
