import type { Reading } from '../../model/in-progress.ts'
import type { Offer, Shape } from '../../model/offer.ts'
import { isObject, parseJson } from '../../model/json.ts'
import type { Nano } from '#core/money.ts'

/** Images and audio, whose bytes pass unchanged in both directions. */
export interface Media {
  /** The number of requested images; null: the answer isn't counted in images. */
  images: ((request: Record<string, unknown>) => number) | null
  /** The maximum cost of this request at an offer; null: the price is unknown. Absent or undefined: `images` counts. */
  worst?(offer: Offer): Nano | null | undefined
  /** Reads the facts at the end of an answer. */
  read(request: Record<string, unknown>, offer: Offer, contentType: string, tail: string): Reading
  /** Absent: the path has no streams. */
  events?: MediaEvents
}

export interface MediaEvents {
  wanted(request: Record<string, unknown>): boolean
  /** Writes a whole answer as events, for a client that was already sent the head of a stream; null: unreadable. */
  write(contentType: string, whole: Buffer): string | null
}

/** What the gateway must know about a wire shape to pass its bytes through: paths, headers, and the place of usage. */
export interface PassthroughFormat {
  shape: Shape
  /** Relative to the upstream's base. */
  path: string
  /** The default model; absent: a model is required. */
  usualModel?: string
  /** Client headers that matter to the provider, in lower case. */
  forwardedHeaders: readonly string[]
  /** Headers that name an account at the provider: only sent to the caller's own endpoint. */
  forwardedOnOwnKey: readonly string[]
  media?: Media
  /** The fields that limit the output; none: the result has no length. */
  limitFields: readonly string[]
  /** No field limits the answer: the model's maximum is reserved. */
  boundless?: true
  /** Streams only report usage if `stream_options.include_usage` requests it. */
  usageOption: boolean
  /** Null: not an answer of this shape. */
  readWhole(json: Record<string, unknown>): Reading | null
  /**
   * Reads only the end of a whole answer, where that is certain: its `usage` is proven to be at the top level. Null:
   * read all of it.
   */
  readEnd(text: string): Reading | null
  /** Reads a stream's usage from its first and last events. */
  readStream(head: string, tail: string): Reading
}

/**
 * Finds `usage` at the end of an answer. The remainder from the key, after an opening brace, parses as an object, so
 * the key is at the top level; inside a string its quotes would be escaped.
 */
export function usageAtEnd(text: string): { usage: unknown; at: number } | null {
  const at = text.lastIndexOf('"usage":')
  if (at < 1 || text.charCodeAt(0) !== 0x7b || text.charCodeAt(at - 1) !== 0x2c) return null
  const rest = parseJson(`{${text.slice(at)}`)
  return isObject(rest) && isObject(rest.usage) ? { usage: rest.usage, at } : null
}

/** Returns the string value of the last such key before `at`. */
export function wordBefore(text: string, key: string, at: number): string | null {
  const keyAt = text.lastIndexOf(`"${key}":"`, at)
  if (keyAt < 0) return null
  const start = keyAt + key.length + 4
  const end = text.indexOf('"', start)
  return end < 0 ? null : text.slice(start, end)
}

/** Counts characters written by the model, in answers of either vendor: for an estimate without usage. */
export function producedCharacters(frames: string): number {
  let characters = 0
  for (const [, words] of frames.matchAll(
    /"(?:content|delta|text|thinking|reasoning|reasoning_content|partial_json|arguments)":\s*"((?:[^"\\]|\\.)*)"/g,
  ))
    characters += words!.length
  return characters
}
