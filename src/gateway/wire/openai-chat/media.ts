import { waveHead } from '#packages/media-tools/convert/wave.ts'
import type { Chunk, MediaSource, SoundPiece } from '../../model/canonical-request.ts'
import { isObject, type Json, listOf, objectOf, textOf } from '../../model/json.ts'
import { sourceOf, urlOf } from '../shared/media.ts'

/** openrouter.ai/docs, image generation. Unreadable images are skipped. */
export const readPictures = (message: Json): MediaSource[] =>
  listOf(message['images']).flatMap((one) => sourceOf(textOf(objectOf(objectOf(one)['image_url'])['url'])) ?? [])

/** `index` counts the images before. */
export const writePictures = (images: readonly MediaSource[], index = 0): Json[] =>
  images.map((source, i) => ({ type: 'image_url', image_url: { url: urlOf(source) }, index: index + i }))

/** openai 7.55, ChatCompletionAudio. */
export function readSound({ audio }: Json): Extract<Chunk, { type: 'audio' }> | null {
  if (!isObject(audio)) return null
  const { expires_at: expiresAt } = audio
  return {
    type: 'audio',
    data: textOf(audio['data']),
    transcript: textOf(audio['transcript']),
    id: textOf(audio['id']),
    expires_at: typeof expiresAt === 'number' ? expiresAt : null,
    rate: null,
  }
}

export function writeSound(pieces: readonly SoundPiece[], format: string, id: string): Json | null {
  const [first] = pieces
  if (first === undefined) return null
  const bytes = Buffer.concat(pieces.map(({ data }) => Buffer.from(data, 'base64')))
  const rate = pieces.find((piece) => piece.rate !== null)?.rate ?? null
  const whole = rate !== null && format === 'wav' ? Buffer.concat([waveHead(rate, bytes.length), bytes]) : bytes
  return {
    id: first.id || id,
    data: whole.toString('base64'),
    transcript: pieces.map(({ transcript }) => transcript).join(''),
    expires_at: pieces.findLast(({ expires_at }) => expires_at !== null)?.expires_at ?? 0,
  }
}
