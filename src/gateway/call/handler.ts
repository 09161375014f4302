import type { IncomingHttpHeaders } from 'node:http'
import type { Id } from '#core/ids.ts'
import type { Nano } from '#core/money.ts'
import type { Usage } from '#core/usage.ts'
import type { Loss, UpstreamFault } from '../model/canonical-request.ts'
import type { AnswerInProgress, AttemptListener, Reading } from '../model/in-progress.ts'
import type { Offer } from '../model/offer.ts'
import type { Gateway } from '../request/gateway.ts'
import type { Asker } from '../request/logged.ts'
import type { Candidate } from '../routing/router.ts'
import type { TranslatedRequest } from '../translation/translate.ts'
import type { WorstCase } from './money/metering.ts'

/** The parts that differ between callers. `Call` and `Attempt` implement the rest of a call's life cycle. */
export interface CallHandler {
  readonly request: CallRequest
  readonly money: CallMoney
  readonly relay: CallRelay
}

/** An attempt, as its handler sees it. The relay reports the outcome to it. */
export interface HandledAttempt extends AttemptListener {
  readonly id: Id
  readonly candidate: Candidate
  readonly offer: Offer
  readonly translated: TranslatedRequest | null
  readonly over: boolean
  readonly settled: { usage: Usage; cost: Nano | null } | null
  sent(answer: AnswerInProgress): void
  leave(): Nano | null
}

export interface CallRequest extends Asker {
  readonly gateway: Gateway
  /** False: tokens are only counted; nothing is generated or charged. */
  readonly metered: boolean
  readonly streaming: boolean
  /** Null: unknown, or only one endpoint could cache its prompt. */
  readonly conversation: string | null
  /** The caller has left. */
  readonly gone: boolean
  /** Null: the client's own bytes are sent. Refuses what the offer can't serve at all. */
  translatedFor(offer: Offer): TranslatedRequest | null
}

/** Bounds an attempt's cost, and estimates it if the provider doesn't report usage. */
export interface CallMoney {
  inputBound(attempt: HandledAttempt): number
  /** A rougher bound that is cheaper to compute. */
  roughInputBound?(attempt: HandledAttempt): number | null
  worstCase(attempt: HandledAttempt, inputTokens: number): WorstCase
  guessInput(): number
}

/** Sends attempts to their providers, and the answer to the caller. */
export interface CallRelay {
  /** `limit`: the output tokens covered by the reservation. */
  send(attempt: HandledAttempt, limit: number | null): void
  /** Fields that didn't reach the provider, by the client's names. */
  lossesOf(attempt: HandledAttempt): readonly Loss[]
  begin(
    attempt: HandledAttempt,
    losses: readonly Loss[],
    contentType: string,
    length: number | null,
    provider: IncomingHttpHeaders,
  ): void
  ended(attempt: HandledAttempt, reading: Reading, fault: UpstreamFault | null): void
  hedgeLost?(attempt: HandledAttempt, cost: Nano | null): void
  /** The endpoint was withdrawn after its answer had started. Absent: the relay watches for it itself. */
  withdrawn?(): void
  /** True: the call can do without an answer after this fault. */
  toleratesFault?(fault: UpstreamFault): boolean
  failed(failure: unknown, candidate: Candidate, isExhausted: boolean): void
}
