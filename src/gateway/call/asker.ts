import type { IncomingHttpHeaders } from 'node:http'
import type { Payer } from '#engine/ledger/ledger.ts'
import type { Id } from '#kernel/ids.ts'
import type { Nano } from '#kernel/money.ts'
import type { Loss, UpstreamFault } from '../model/canonical-request.ts'
import type { Offer } from '../model/offer.ts'
import type { Reading } from '../model/in-progress.ts'
import type { Candidate } from '../routing/router.ts'
import type { Way } from '../translation/translate.ts'
import type { Attempt } from './attempt.ts'
import type { WorstCase } from './money/metering.ts'
import type { Gateway } from '../request/gateway.ts'

/**
 * For whom a call is made, and all that differs with it: what is asked, how it is sent, and where the answer goes — a
 * client's bytes, a client's own shape, an iterator, vectors. The rest of a call's life is `Call` and `Attempt`.
 */
export interface Asker {
  readonly gateway: Gateway
  readonly payer: Payer
  /** Where the call comes from, for the ledger and the metrics: `compat-a`, `inference`, `chat`, … */
  readonly surface: string
  /** The first attempt's. */
  readonly id: Id
  /** By the clock of `performance.now()`. */
  readonly startedAt: number
  /** False: tokens are counted and nothing is generated or charged. */
  readonly metered: boolean
  /** The answer is shown piece by piece. */
  readonly streaming: boolean
  /** What tells this conversation from others; null: nothing, or nobody could hold its prompt but the one who is asked. */
  readonly conversation: string | null
  /** Nobody waits for the answer any more. */
  readonly gone: boolean
  /** How an offer is asked; null: by the asker's own bytes. Refuses what it cannot be asked at all. */
  wayTo(offer: Offer): Way | null
  /** The most input tokens that this attempt can cost. */
  inputBound(attempt: Attempt): number
  /** What this attempt may cost at most. Refuses what cannot be bounded. */
  worstCase(attempt: Attempt, inputTokens: number): WorstCase
  /** A fair guess where nobody counts the input. */
  guessInput(): number
  /** Sends it, and tells the attempt of the answer that it waits for. `limit`: the output tokens that money was held for. */
  send(attempt: Attempt, limit: number | null): void
  /** What did not reach the provider, by the names of the asker's fields. */
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
  outrun?(attempt: Attempt, cost: Nano | null): void
  /** Whether it does without an answer after this fault. */
  makesDo?(fault: UpstreamFault): boolean
  /** Nobody is left to ask. `exhausted`: several were, and none was at fault for good. */
  failed(failure: unknown, candidate: Candidate, exhausted: boolean): void
}
