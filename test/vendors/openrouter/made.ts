// Images and audio in OpenRouter's chat answers: `message.images`, `delta.images`, `message.audio`, `delta.audio`.
//
// Sources: openrouter.ai/docs, image generation (`modalities`, `image_config`, images as PNG data URLs); the schemas of
// @openrouter/sdk 1.3.19 (`ChatAssistantImages`, `ChatAudioOutput`).
//
// Unknown, so guessed: the chunk of an image (played: after the text, each in one), the words of a refusal, and
// `image_tokens` (played: 1,290 per image).
import { pcm, wav } from '../media/made/sound.ts'
import { picture } from '../media/made/picture.ts'
import type { Json } from '../vendor.ts'

export type Makes = 'image' | 'audio'

const PICTURE_TOKENS = 1290
const SOUND_TOKENS = 25
const sizes: Record<string, string> = { '16:9': '1344x768', '9:16': '768x1344' }

export type MediaOutput = { fields: Json; pieces: Json[]; usage: Json; tokens: number }

/** Why this model can't serve the request; undefined: it can. */
export function refusedModalities(body: Json, makes: Makes | undefined): string | undefined {
  const modalities = ((body['modalities'] ?? []) as string[]).filter((one) => one !== 'text')
  if (modalities.every((one) => one === makes)) return undefined
  return 'No endpoints found that support the requested output modalities: ' + modalities.join(', ')
}

/** Undefined: only text was requested. `words`: the content of the image or audio. */
export async function makeMedia(body: Json, makes: Makes | undefined, words: string): Promise<MediaOutput | undefined> {
  const modalities: string[] = body['modalities'] ?? []
  if (makes === undefined || !modalities.includes(makes)) return undefined
  if (makes === 'image') {
    const { bytes, type } = await picture(sizes[body['image_config']?.aspect_ratio] ?? '1024x1024', { words })
    const url = `data:${type};base64,${bytes.toString('base64')}`
    const images = [{ type: 'image_url', image_url: { url }, index: 0 }]
    return { fields: { images }, pieces: [{ images }], usage: { image_tokens: PICTURE_TOKENS }, tokens: PICTURE_TOKENS }
  }
  const seconds = [...words].length / 15
  const tokens = Math.ceil(seconds * SOUND_TOKENS)
  const bytes = body['audio']?.format === 'wav' ? wav(seconds) : pcm(seconds, 24_000)
  const about = { id: 'audio_loopback', expires_at: 1_790_000_000 }
  const half = (bytes.length >> 2) << 1
  const piece = (from: number, to?: number) => ({ audio: { data: bytes.subarray(from, to).toString('base64') } })
  return {
    fields: { audio: { ...about, data: bytes.toString('base64'), transcript: words } },
    pieces: [
      { audio: { id: about.id, transcript: words } },
      piece(0, half),
      piece(half),
      { audio: { expires_at: about.expires_at } },
    ],
    usage: { audio_tokens: tokens },
    tokens,
  }
}
