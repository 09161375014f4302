import { readWaveHead } from '#packages/media-tools/convert/wave.ts'
import type { CanonicalRequest, Chunk } from '../../model/canonical-request.ts'
import { compact, type Json, textOf } from '../../model/json.ts'
import type { Losses } from '../shared/losses.ts'
import { typeOf } from '../shared/media.ts'
import { openaiVoices } from '../openai-chat/voices.ts'

/** ai.google.dev, speech generation. */
const RATE = 24_000
const FORMATS = ['wav', 'pcm16']

/** @google/genai 3.1.0, types. A model produces either speech or images, and with speech no text. */
export function askForMedia(canonical: CanonicalRequest, losses: Losses): Json {
  const { modalities, audio, image_config: picture } = canonical
  if (modalities === undefined) return {}
  if (modalities.includes('image')) {
    if (modalities.includes('audio')) losses.add('modalities')
    const imageConfig = compact({ aspectRatio: picture?.aspect_ratio, imageSize: picture?.image_size })
    return compact({
      responseModalities: modalities.includes('text') ? ['TEXT', 'IMAGE'] : ['IMAGE'],
      imageConfig: Object.keys(imageConfig).length > 0 ? imageConfig : undefined,
    })
  }
  if (audio !== undefined && !FORMATS.includes(audio.format)) losses.add('audio.format')
  return compact({ responseModalities: ['AUDIO'], speechConfig: voiceOf(audio?.voice, losses) })
}

/** OpenAI's SDK requires a voice; OpenAI's names are dropped, so the vendor chooses. */
function voiceOf(voice: string | undefined, losses: Losses): Json | undefined {
  if (voice === undefined) return undefined
  if (!openaiVoices.has(voice)) return { voiceConfig: { prebuiltVoiceConfig: { voiceName: voice } } }
  losses.add('audio.voice')
  return undefined
}

export function readInlineData({ mimeType, data }: Json): Chunk[] {
  const type = textOf(mimeType).toLowerCase()
  const bytes = textOf(data)
  if (bytes === '') return []
  if (type.startsWith('image/')) {
    const source = { kind: 'base64' as const, media_type: type, data: bytes }
    return [{ type: 'image', source: { ...source, media_type: typeOf(source) } }]
  }
  if (!type.startsWith('audio/')) return []
  const { samples, rate } = samplesOf(type, bytes)
  return [{ type: 'audio', data: samples, rate, transcript: '', id: '', expires_at: null }]
}

/** Older models send raw samples, newer ones a WAV file. */
function samplesOf(type: string, data: string): { samples: string; rate: number } {
  if (!type.includes('wav')) return { samples: data, rate: Number(/rate=(\d+)/.exec(type)?.[1] ?? RATE) }
  const file = Buffer.from(data, 'base64')
  const head = readWaveHead(file)
  if (head === null) return { samples: data, rate: RATE }
  return { samples: file.subarray(head.start).toString('base64'), rate: head.sampleRate }
}
