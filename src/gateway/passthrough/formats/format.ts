import type { Reading } from '../../model/in-progress.ts'
import type { Offer, Shape } from '../../model/offer.ts'
import { isObject, parseJson } from '../../model/json.ts'
import type { Nano } from '#core/money.ts'

export interface Media {
  /** The number of requested images; null: the answer isn't counted in images. */
  images: ((request: Record<string, unknown>) => number) | null
  /** Null: the price is unknown. Absent or undefined: `images` counts. */
  worst?(offer: Offer): Nano | null | undefined
  read(request: Record<string, unknown>, offer: Offer, contentType: string, tail: string): Reading
  events?: MediaEvents
}

export interface MediaEvents {
  wanted(request: Record<string, unknown>): boolean
  /** For a client that was already sent the head of a stream; null: unreadable. */
  write(contentType: string, whole: Buffer): string | null
}

export interface PassthroughFormat {
  shape: Shape
  path: string
  usualModel?: string
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
  readWhole(json: Record<string, unknown>): Reading | null
  /**
   * Reads only the end of a whole answer, where that is certain: its `usage` is proven to be at the top level. Null:
   * read all of it.
   */
  readEnd(text: string): Reading | null
  readStream(head: string, tail: string): Reading
}

/**
 * The remainder from the key, after an opening brace, parses as an object, so the key is at the top level; inside a
 * string its quotes would be escaped.
 */
export function usageAtEnd(text: string): { usage: unknown; at: number } | null {
  const at = text.lastIndexOf('"usage":')
  if (at < 1 || text.charCodeAt(0) !== 0x7b || text.charCodeAt(at - 1) !== 0x2c) return null
  const rest = parseJson(`{${text.slice(at)}`)
  return isObject(rest) && isObject(rest.usage) ? { usage: rest.usage, at } : null
}

export function wordBefore(text: string, key: string, at: number): string | null {
  const keyAt = text.lastIndexOf(`"${key}":"`, at)
  if (keyAt < 0) return null
  const start = keyAt + key.length + 4
  const end = text.indexOf('"', start)
  return end < 0 ? null : text.slice(start, end)
}

export function producedCharacters(frames: string): number {
  let characters = 0
  for (const [, words] of frames.matchAll(
    /"(?:content|delta|text|thinking|reasoning|reasoning_content|partial_json|arguments)":\s*"((?:[^"\\]|\\.)*)"/g,
  ))
    characters += words!.length
  return characters
}
