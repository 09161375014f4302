import { parseForeign } from '#core/json/json-text.ts'
import { isObject, type Json } from '../model/json.ts'
import { MediaFault, type MadeFile, type MadeSound, type SoundFormat, type WireAnswer } from './adapter.ts'

const MINUTE = 60_000
/** The time limit of an answer that is only a word about a job. */
export const SHORT_MS = MINUTE
/** The time limit of an answer that is the made thing. */
export const MAKING_MS = 15 * MINUTE
/** The most bytes of an answer that is only a word about a job. */
export const SHORT_BYTES = 4 << 20
const PICTURE_BYTES = 64 << 20
/** The most bytes that have to be in memory as a whole: anybody can name a provider, and many may answer at once. */
export const WHOLE_BYTES = 128 << 20
/** The most bytes of an answer with pictures that stand as base64 in JSON. */
export const pictureAnswerBytes = (n: number): number =>
  Math.min(WHOLE_BYTES, SHORT_BYTES + n * Math.ceil((PICTURE_BYTES * 4) / 3))
export const pictureBytes = PICTURE_BYTES
export const VIDEO_BYTES = 4 * 2 ** 30
export const SOUND_BYTES = 512 << 20

/** A vendor answered what cannot be read. It may have done the work. */
export const badAnswer = (message: string): MediaFault => new MediaFault('bad_answer', message)

/** A word about a job needs no room of its own. */
const SMALL_BYTES = 1 << 20

/** The whole of an answer. The wire bounds how much that is, and the room of all answers when it goes on. */
export async function wholeOf({ body, place }: Pick<WireAnswer, 'body' | 'place'>): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  let size = 0
  for await (const piece of body) {
    size += piece.length
    if (size > SMALL_BYTES) await place?.take(piece.length)
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

/** The object that an answer is. Throws `MediaFault` `bad_answer`. */
export async function jsonOf(answer: Pick<WireAnswer, 'body' | 'place'>): Promise<Json> {
  const json = parseForeign(await wholeOf(answer))
  if (!isObject(json)) throw badAnswer('The provider returned something other than a JSON object.')
  return json
}

/** Bytes that are there, as a stream of one piece. */
export async function* inOne(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

/** Sound as it comes, of a vendor that says nothing of what it counted: its price goes by the characters. */
export const soundOf = (
  { body }: Pick<WireAnswer, 'body'>,
  { format, pcmRate, characters }: { format: SoundFormat; pcmRate: number; characters: number },
): MadeSound => ({
  format,
  sampleRate: format === 'pcm' ? pcmRate : null,
  bytes: body,
  units: () => ({ characters }),
})

/** A file that stood as base64 in an answer. */
export const fileOf = (base64: string, revisedPrompt: string | null = null): MadeFile => ({
  bytes: inOne(Buffer.from(base64, 'base64')),
  revisedPrompt,
})

/** Bytes of an address that holds them itself (`data:`, RFC 2397). Null: it is another thing. Throws `MediaFault` `bad_answer`. */
export function dataOf(url: string): Buffer | null {
  const [, head, data] = /^data:([^,]*),(.*)$/s.exec(url) ?? []
  if (data === undefined) return null
  if (/;base64$/i.test(head!)) return Buffer.from(data, 'base64')
  try {
    return Buffer.from(decodeURIComponent(data))
  } catch {
    throw badAnswer('The provider returned an invalid data URL.')
  }
}
