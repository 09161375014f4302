import type { Usage } from '#kernel/usage.ts'
import type { Shape } from '../directory.ts'
import type { UpstreamFault } from '../turn.ts'

/** What the end of an answer tells. */
export interface Reading {
  /** Null: the provider said nothing. */
  usage: Usage | null
  reportedUsd?: number | undefined
  finishReason: string | null
  /** The answer came to its proper end. */
  ended: boolean
  /** The vendor's last frame was there. */
  closed: boolean
  /** The provider put an error into its answer. */
  fault: UpstreamFault | null
}

/** What the gateway knows of a wire shape to pass its bytes through: where to, with what, and where usage stands. */
export interface Dialect {
  shape: Shape
  /** Behind the upstream's base. */
  path: string
  /** A client's headers that mean something to the provider, in lower case. */
  travelling: readonly string[]
  /** Those that name an account at the provider: they travel only to the caller's own endpoint. */
  travellingOnOwnKey: readonly string[]
  /** The field that bounds the output. */
  limitField(preset: string | null): string
  /** Every field that does. */
  limitFields: readonly string[]
  /** A stream says what was used only when `stream_options.include_usage` asks for it. */
  usageOption: boolean
  /** Null: no answer of this shape. */
  readWhole(json: Record<string, unknown>): Reading | null
  /** From the first events and the last ones. */
  readStream(head: string, tail: string): Reading
}

/** An answer that told nothing. */
export const unread = (): Reading => ({ usage: null, finishReason: null, ended: false, closed: false, fault: null })

/** Characters that a model wrote, in answers of either vendor: for an estimate where no usage came. */
export function producedCharacters(frames: string): number {
  let characters = 0
  for (const [, words] of frames.matchAll(
    /"(?:content|text|thinking|reasoning|reasoning_content|partial_json|arguments)":\s*"((?:[^"\\]|\\.)*)"/g,
  ))
    characters += words!.length
  return characters
}
