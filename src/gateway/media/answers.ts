import { parseForeign } from '#packages/json-scan/json-text.ts'
import { isObject, type Json } from '../model/json.ts'
import { MediaFault, type MadeFile, type MadeSound, type SoundFormat, type WireAnswer } from './adapter.ts'

const MINUTE = 60_000
export const SHORT_MS = MINUTE
export const MAKING_MS = 15 * MINUTE
export const SHORT_BYTES = 4 << 20
const PICTURE_BYTES = 64 << 20
/** Maximum buffered bytes: anyone can add a provider, and many may answer at once. */
export const WHOLE_BYTES = 128 << 20
export const pictureAnswerBytes = (n: number): number =>
  Math.min(WHOLE_BYTES, SHORT_BYTES + n * Math.ceil((PICTURE_BYTES * 4) / 3))
export const pictureBytes = PICTURE_BYTES
export const VIDEO_BYTES = 4 * 2 ** 30
export const SOUND_BYTES = 512 << 20

/** The vendor's answer is unreadable, but it may have done the work. */
export const badAnswer = (message: string): MediaFault => new MediaFault('bad_answer', message)

const SMALL_BYTES = 1 << 20

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

/** Throws `MediaFault` `bad_answer`. */
export async function jsonOf(answer: Pick<WireAnswer, 'body' | 'place'>): Promise<Json> {
  const json = parseForeign(await wholeOf(answer))
  if (!isObject(json)) throw badAnswer('The provider returned something other than a JSON object.')
  return json
}

export async function* inOne(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

/** Streamed audio of a vendor that reports no usage: it is priced by characters. */
export const soundOf = (
  { body }: Pick<WireAnswer, 'body'>,
  { format, pcmRate, characters }: { format: SoundFormat; pcmRate: number; characters: number },
): MadeSound => ({
  format,
  sampleRate: format === 'pcm' ? pcmRate : null,
  bytes: body,
  units: () => ({ characters }),
})

export const fileOf = (base64: string, revisedPrompt: string | null = null): MadeFile => ({
  bytes: inOne(Buffer.from(base64, 'base64')),
  revisedPrompt,
})

/** RFC 2397. Null: another URL. Throws `MediaFault` `bad_answer`. */
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
