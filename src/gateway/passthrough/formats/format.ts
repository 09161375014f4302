import type { Reading } from '../../model/in-progress.ts'
import type { Offer, Shape } from '../../model/offer.ts'
import { isObject, parseJson } from '../../model/json.ts'
import type { Nano } from '#core/money.ts'

/** Pictures and sound, whose bytes pass in either direction whatever they are. */
export interface Media {
  /** The number of pictures that a request asks for; null: its answer is not counted in pictures. */
  images: ((request: Record<string, unknown>) => number) | null
  /** The most that this request costs at an offer; null: the price is in no source. Absent or undefined: `images` counts. */
  worst?(offer: Offer): Nano | null | undefined
  /** The facts that the end of an answer tells. */
  read(request: Record<string, unknown>, offer: Offer, contentType: string, tail: string): Reading
  /** Absent: the path has no streams. */
  events?: MediaEvents
}

export interface MediaEvents {
  wanted(request: Record<string, unknown>): boolean
  /** A whole answer as the events of the path, for a client that was already sent the head of a stream; null: it can't be read. */
  write(contentType: string, whole: Buffer): string | null
}

/** A wire shape as far as the gateway must know it to pass its bytes through: where to, with what, and where usage stands. */
export interface PassthroughFormat {
  shape: Shape
  /** Behind the upstream's base. */
  path: string
  /** The model of a request that names none; absent: it has to. */
  usualModel?: string
  /** A client's headers that mean something to the provider, in lower case. */
  forwardedHeaders: readonly string[]
  /** Headers that name an account at the provider: they travel only to the caller's own endpoint. */
  forwardedOnOwnKey: readonly string[]
  media?: Media
  /** The fields that bound the output; none: what is made has no length that could be bounded. */
  limitFields: readonly string[]
  /** The length of the answer is bounded by no field: as much is held as the model writes at most. */
  boundless?: true
  /** A stream says what was used only when `stream_options.include_usage` asks for it. */
  usageOption: boolean
  /** Null: no answer of this shape. */
  readWhole(json: Record<string, unknown>): Reading | null
  /**
   * The same from the end of a whole answer alone, where that is certain: its `usage` is proved to stand at the top, and
   * what comes before it is not looked at. Null: read it all.
   */
  readEnd(text: string): Reading | null
  /** Reads a stream's usage from its first events and the last ones. */
  readStream(head: string, tail: string): Reading
}

/**
 * The `usage` of an answer from its text's end. The rest from the key on, behind an opening brace, is an object: so the
 * key stood at the top. Inside a string its quotes would be escaped.
 */
export function usageAtEnd(text: string): { usage: unknown; at: number } | null {
  const at = text.lastIndexOf('"usage":')
  if (at < 1 || text.charCodeAt(0) !== 0x7b || text.charCodeAt(at - 1) !== 0x2c) return null
  const rest = parseJson(`{${text.slice(at)}`)
  return isObject(rest) && isObject(rest.usage) ? { usage: rest.usage, at } : null
}

/** The string value of the last such key before `at`. */
export function wordBefore(text: string, key: string, at: number): string | null {
  const found = text.lastIndexOf(`"${key}":"`, at)
  if (found < 0) return null
  const start = found + key.length + 4
  const end = text.indexOf('"', start)
  return end < 0 ? null : text.slice(start, end)
}

/** Characters that a model wrote, in answers of either vendor: for an estimate where no usage came. */
export function producedCharacters(frames: string): number {
  let characters = 0
  for (const [, words] of frames.matchAll(
    /"(?:content|delta|text|thinking|reasoning|reasoning_content|partial_json|arguments)":\s*"((?:[^"\\]|\\.)*)"/g,
  ))
    characters += words!.length
  return characters
}
