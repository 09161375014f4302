import type { IncomingHttpHeaders } from 'node:http'
import type { AnsweredRequest, Payer } from '#infra/ledger/ledger.ts'
import { Refusal } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import type { Nano } from '#core/money.ts'
import type { Usage } from '#core/usage.ts'
import type { Loss, UpstreamFault } from '../model/canonical-request.ts'
import type { AnswerInProgress, AttemptListener, Reading } from '../model/in-progress.ts'
import type { Offer } from '../model/offer.ts'
import type { Candidate } from '../routing/router.ts'
import type { TranslatedRequest } from '../translation/translate.ts'
import type { Gateway } from '../request/gateway.ts'
import type { Asked } from '../request/logged.ts'
import { Metering, type WorstCase } from './money/metering.ts'
import { billedUsage } from './money/settle.ts'

/**
 * The maker of a call, and all that differs with it: what is asked, how it is sent, and where the answer goes — a
 * client's bytes, a client's own shape, an iterator, vectors. The rest of a call's life is `Call` and `Attempt`.
 */
export interface CallHandler {
  readonly gateway: Gateway
  readonly payer: Payer
  /** The surface that the call comes from, for the ledger and the metrics: `compat-a`, `inference`, `chat`, … */
  readonly surface: string
  /** The first attempt's. */
  readonly id: Id
  /** The time of the start, by the clock of `performance.now()`. */
  readonly startedAt: number
  /** False: tokens are counted and nothing is generated or charged. */
  readonly metered: boolean
  /** The answer is shown piece by piece. */
  readonly streaming: boolean
  /** The key that tells this conversation from others; null: nothing, or nobody could hold its prompt but the one who is asked. */
  readonly conversation: string | null
  /** Whether nobody waits for the answer any more. */
  readonly gone: boolean
  /** The request, as the log of requests tells it. */
  asked(): Asked
  /** The request as an offer is asked; null: by the client's own bytes. Refuses what it cannot be asked at all. */
  translatedFor(offer: Offer): TranslatedRequest | null
  /** The most input tokens that this attempt can cost. */
  inputBound(attempt: Attempt): number
  /** A rougher bound that is no smaller and takes less work to find; null: there is no such way. */
  roughInputBound?(attempt: Attempt): number | null
  /** The most that this attempt may cost. Refuses what cannot be bounded. */
  worstCase(attempt: Attempt, inputTokens: number): WorstCase
  /** A fair guess where nobody counts the input. */
  guessInput(): number
  /** Sends it, and tells the attempt of the answer that it waits for. `limit`: the output tokens that money was held for. */
  send(attempt: Attempt, limit: number | null): void
  /** Fields that did not reach the provider, by the names of the client's fields. */
  lossesOf(attempt: Attempt): readonly Loss[]
  /** The answer of this attempt begins. */
  begin(
    attempt: Attempt,
    losses: readonly Loss[],
    contentType: string,
    length: number | null,
    provider: IncomingHttpHeaders,
  ): void
  /** The answer is over and settled; with a fault it broke off. */
  ended(attempt: Attempt, reading: Reading, fault: UpstreamFault | null): void
  /** An attempt that raced this call's answer was left; null: nobody knows what it cost. */
  hedgeLost?(attempt: Attempt, cost: Nano | null): void
  /** The endpoint of an answer that has begun serves nobody any more. Absent: the handler watches for it itself. */
  withdrawn?(): void
  /** True: it does without an answer after this fault. */
  toleratesFault?(fault: UpstreamFault): boolean
  /** Called when nobody is left to ask. `exhausted`: several were asked, and none was at fault for good. */
  failed(failure: unknown, candidate: Candidate, exhausted: boolean): void
}

/** The call that an attempt belongs to, as the attempt tells it what became of it. */
export interface AttemptOwner {
  readonly handler: CallHandler
  /** An attempt's answer begins. */
  begin(attempt: Attempt, contentType: string, length: number | null, provider: IncomingHttpHeaders): void
  /** An attempt came to nothing, and nobody has seen anything of it. `isFinal`: it may have been done and is paid, so nobody else is asked. */
  failed(attempt: Attempt, fault: UpstreamFault, isFinal?: boolean): void
  /**
   * The part of the request's log that goes with the book record of the attempt that answered; null where the log needs
   * an entry of its own.
   */
  logInRecord(attempt: Attempt): AnsweredRequest | null
  /** The answer is over and settled; with a fault it broke off. */
  ended(attempt: Attempt, reading: Reading, fault: UpstreamFault | null): void
}

/** The owner wants it so, and the provider is not at fault. */
export const WITHDRAWN: UpstreamFault = {
  kind: 'withdrawn',
  message: 'The provider endpoint was disabled or deleted.',
}

/**
 * The attempt with one candidate: its money is held, the request sent, the result told to health, cache affinity and
 * ledger.
 */
export class Attempt implements AttemptListener {
  /** The call's in the ledger. */
  readonly id: Id
  readonly candidate: Candidate
  /** The request as it is asked; null: by the client's own bytes. */
  readonly translated: TranslatedRequest | null
  readonly startedAt: number
  readonly #call: AttemptOwner
  readonly #handler: CallHandler
  /** Null: tokens are counted and nothing is generated or charged. */
  readonly #metering: Metering | null
  #answer: AnswerInProgress | null = null
  /** The most input tokens; counted only where money is held. */
  #inputTokens = 0
  #beganAt = 0
  #over = false
  #withdrawn = false
  #settled: { usage: Usage; cost: Nano | null } | null = null

  /** `startedAt` by the clock of `performance.now()`. */
  constructor(
    call: AttemptOwner,
    candidate: Candidate,
    translated: TranslatedRequest | null,
    id: Id,
    startedAt: number,
  ) {
    this.#call = call
    this.#handler = call.handler
    this.id = id
    this.candidate = candidate
    this.translated = translated
    this.startedAt = startedAt
    const { gateway, payer, surface, metered } = call.handler
    this.#metering = metered ? new Metering(gateway.engine.ledger, candidate.offer, { id, payer, surface }) : null
  }

  get offer(): Offer {
    return this.candidate.offer
  }

  /** Whether the attempt is over. */
  get over(): boolean {
    return this.#over
  }

  /** The usage and the cost (null: the model has no price), once it is over. */
  get settled(): { usage: Usage; cost: Nano | null } | null {
    return this.#settled
  }

  /** Throws what refuses it at once; what refuses it later goes to `refused`. */
  start(refused: (error: unknown) => void): void {
    const metering = this.#metering
    if (metering === null || !metering.guarded) return this.#send(null)
    this.#reserve(metering)
      .then((limit) => {
        if (this.#over || this.#handler.gone) metering.release()
        else if (this.#withdrawn) {
          metering.release()
          this.#over = true
          this.#call.failed(this, WITHDRAWN)
        } else this.#send(limit)
      })
      .catch((error: unknown) => {
        // Of two that race it is not waited for any more.
        if (!this.#over) refused(error)
      })
  }

  async #reserve(metering: Metering): Promise<number | null> {
    const rough = this.#handler.roughInputBound?.(this) ?? null
    if (rough !== null && (await this.#reserveRoughly(metering, rough))) return null
    this.#inputTokens = this.#handler.inputBound(this)
    return metering.reserve(this.#handler.worstCase(this, this.#inputTokens))
  }

  /** False: there is not money enough for a rough bound, and an exact one may be less. */
  async #reserveRoughly(metering: Metering, inputTokens: number): Promise<boolean> {
    const worst = this.#handler.worstCase(this, inputTokens)
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
      this.#handler.send(this, limit)
    } catch (error) {
      this.#metering?.release()
      throw error
    }
  }

  /** The request leaves, and this is where its answer goes. */
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
    const { gateway, surface, streaming } = this.#handler
    if (this.#metering !== null) {
      gateway.engine.metrics.gateway.call(surface, 'failed', null)
      this.#metering.fail(performance.now() - this.startedAt, streaming, isUnclear)
    }
    this.#call.failed(this, fault, isUnclear && this.#metering?.isWhole === true)
  }

  ended(reading: Reading, why: UpstreamFault | null, firstByteAt: number, characters: number): void {
    this.#over = true
    this.#answer = null
    const broken = why ?? reading.fault
    const { gateway, conversation } = this.#handler
    if (broken === null) {
      const now = performance.now()
      const written = reading.usage?.output_tokens ?? 0
      gateway.health.succeeded(this.offer, firstByteAt - this.startedAt, now - this.startedAt, written, now)
      if (conversation !== null && reading.usage !== null)
        gateway.cacheAffinity.note(conversation, this.offer, reading.usage)
    } else {
      gateway.health.failed(this.offer, broken)
      if (conversation !== null) gateway.cacheAffinity.forget(conversation)
    }
    // Before it is told: who hears of the end may ask what it cost, and may not come back.
    this.#settle(reading, broken === null ? 'succeeded' : 'failed', firstByteAt, characters)
    this.#call.ended(this, reading, why)
  }

  /**
   * Ends the attempt because its endpoint serves nobody any more: another is asked if nothing was shown yet, else the
   * answer ends here.
   */
  withdraw(): void {
    if (this.#over || this.#withdrawn) return
    this.#withdrawn = true
    if (this.#beganAt > 0) return this.#handler.withdrawn?.()
    // While its money is held nothing has been sent: it is given up then.
    if (this.#answer === null) return
    this.#answer.leave()
    this.failed(WITHDRAWN)
  }

  /**
   * Leaves the attempt because nobody wants its answer any more: what was produced is paid for. Answers the cost, null
   * where nobody knows it.
   */
  leave(): Nano | null {
    this.#over = true
    const answer = this.#answer
    if (answer === null) return 0n
    this.#answer = null
    const { reading, characters } = answer.leave()
    return this.#settle(reading, 'cancelled', this.#beganAt, characters)
  }

  /** `firstByteAt` 0: before its answer began. */
  #settle(
    reading: Reading,
    status: 'succeeded' | 'failed' | 'cancelled',
    firstByteAt: number,
    characters: number,
  ): Nano | null {
    const metering = this.#metering
    if (metering === null) return 0n
    const handler = this.#handler
    handler.gateway.engine.metrics.gateway.call(
      handler.surface,
      status,
      firstByteAt === 0 ? null : firstByteAt - handler.startedAt,
    )
    const { usage, estimated } = billedUsage(reading, status === 'succeeded', characters, handler)
    const cost = metering.settle({
      status,
      usage,
      reportedUsd: reading.reportedUsd,
      media: reading.media,
      priced: reading.priced,
      unpriced: reading.unpriced === true,
      estimated,
      finishReason: reading.finishReason,
      firstTokenMs: firstByteAt === 0 ? null : firstByteAt - this.startedAt,
      durationMs: performance.now() - this.startedAt,
      streamed: handler.streaming,
      request: status === 'succeeded' ? this.#call.logInRecord(this) : null,
    })
    this.#settled = { usage, cost }
    return cost
  }
}
