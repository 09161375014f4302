import type { Usage } from '#core/usage.ts'
import type { Cost, TokensOfMedia } from './cost/cost.ts'
import type { IncomingHttpHeaders } from 'node:http'
import type { UpstreamFault } from './canonical-request.ts'

/** The facts that the end of an answer tells. */
export interface Reading {
  /** Null: the provider said nothing. */
  usage: Usage | null
  reportedUsd?: number | undefined
  /** The part of the tokens that was sound or pictures, where the provider says so. */
  media?: TokensOfMedia | undefined
  /** Pictures that came, where the provider told no usage. */
  pictures?: number
  /** The cost, where it is not that of `usage` at the offer's prices for conversations. */
  priced?: Cost
  /** Something was used that nobody counted: the cost is not known. */
  unpriced?: boolean
  finishReason: string | null
  /** The answer came to its proper end. */
  ended: boolean
  /** The vendor's last frame was there. */
  closed: boolean
  /** The provider put an error into its answer. */
  fault: UpstreamFault | null
}

/** An answer that told nothing. */
export const emptyReading = (): Reading => ({
  usage: null,
  finishReason: null,
  ended: false,
  closed: false,
  fault: null,
})

/** A provider's answer on its way, wherever it is going. */
export interface AnswerInProgress {
  /** Characters that have come, about: what is reckoned with should this process die before its end. */
  readonly characters: number
  /** The answer is not wanted any more: the provider is left at once. Answers what had come until then. */
  leave(): { reading: Reading; characters: number }
}

/** The listener that is told what became of an answer. Exactly one of `failed` and `ended` is called, once; after `leave` none is. */
export interface AttemptListener {
  /** The provider answers: the head of the client's answer is due. `length` null: unknown. */
  begin(contentType: string, length: number | null, provider: IncomingHttpHeaders): void
  /**
   * The call failed before anything reached the client; another provider may be asked. `isUnclear`: the request has left, and
   * the provider may be at work on it.
   */
  failed(fault: UpstreamFault, isUnclear?: boolean): void
  /**
   * The answer is over. With a fault it broke off, and the client's stream is still open for a last frame.
   * `characters` that the model wrote, about, where it did not say what was used.
   */
  ended(reading: Reading, fault: UpstreamFault | null, firstByteAt: number, characters: number): void
}
