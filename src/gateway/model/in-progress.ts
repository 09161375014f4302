import type { Usage } from '#core/usage.ts'
import type { Cost, TokensOfMedia } from './cost/cost.ts'
import type { IncomingHttpHeaders } from 'node:http'
import type { UpstreamFault } from './canonical-request.ts'

export interface Reading {
  usage: Usage | null
  reportedUsd?: number | undefined
  media?: TokensOfMedia | undefined
  pictures?: number
  /** The cost, if it differs from `usage` at the offer's prices for conversations. */
  priced?: Cost
  unpriced?: boolean
  finishReason: string | null
  ended: boolean
  closed: boolean
  fault: UpstreamFault | null
}

export const emptyReading = (): Reading => ({
  usage: null,
  finishReason: null,
  ended: false,
  closed: false,
  fault: null,
})

export interface AnswerInProgress {
  /** Approximate characters received, for the estimate if this process dies before the end. */
  readonly characters: number
  /** Cancels the answer: the provider is disconnected at once. Returns what had arrived. */
  leave(): { reading: Reading; characters: number }
}

/**
 * Receives the outcome of an attempt. Exactly one of `failed` and `ended` is called, once; after `leave` neither is.
 */
export interface AttemptListener {
  begin(contentType: string, length: number | null, provider: IncomingHttpHeaders): void
  /** `isUnclear`: the provider may still be working on the request. */
  failed(fault: UpstreamFault, isUnclear?: boolean): void
  /**
   * With a fault, the client's stream is still open for a last frame. `characters`: approximate output length, for
   * answers without usage.
   */
  ended(reading: Reading, fault: UpstreamFault | null, firstByteAt: number, characters: number): void
}
