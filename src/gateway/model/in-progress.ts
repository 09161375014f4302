import type { Usage } from '#core/usage.ts'
import type { Cost, TokensOfMedia } from './cost/cost.ts'
import type { IncomingHttpHeaders } from 'node:http'
import type { UpstreamFault } from './canonical-request.ts'

/** What the end of an answer reports. */
export interface Reading {
  /** Null: the provider reported nothing. */
  usage: Usage | null
  reportedUsd?: number | undefined
  /** The share of audio and image tokens, if the provider reports it. */
  media?: TokensOfMedia | undefined
  /** Images received, if the provider reported no usage. */
  pictures?: number
  /** The cost, if it differs from `usage` at the offer's prices for conversations. */
  priced?: Cost
  /** Something was used that has no count, so the cost is unknown. */
  unpriced?: boolean
  finishReason: string | null
  /** The answer reached its regular end. */
  ended: boolean
  /** The vendor's last frame arrived. */
  closed: boolean
  /** The provider sent an error inside its answer. */
  fault: UpstreamFault | null
}

export const emptyReading = (): Reading => ({
  usage: null,
  finishReason: null,
  ended: false,
  closed: false,
  fault: null,
})

/** A provider's answer in progress, for any destination. */
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
  /** The provider has answered: the head of the client's answer is due. `length` null: unknown. */
  begin(contentType: string, length: number | null, provider: IncomingHttpHeaders): void
  /**
   * The call failed before anything reached the client, so another provider may be tried. `isUnclear`: the request was
   * sent, and the provider may still be working on it.
   */
  failed(fault: UpstreamFault, isUnclear?: boolean): void
  /**
   * The answer has ended. With a fault it broke off, and the client's stream is still open for a last frame.
   * `characters`: approximate length of the model's output, for answers without usage.
   */
  ended(reading: Reading, fault: UpstreamFault | null, firstByteAt: number, characters: number): void
}
