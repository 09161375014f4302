import { refuse } from '#core/errors.ts'
import type { CanonicalRequest, Modality } from '../../../model/canonical-request.ts'
import { compact, type Json } from '../../../model/json.ts'
import { list, missing, object, string } from '../../shared/request-fields.ts'
import type { Losses } from '../../shared/losses.ts'

const supported: readonly Modality[] = ['text', 'image', 'audio']

/**
 * OpenAI's `modalities` and `audio` (openai 7.55, chat completions), OpenRouter's `image_config` (openrouter.ai/docs,
 * image generation). `audio` only counts if audio is requested.
 */
export function decodeModalities(
  body: Json,
  losses: Losses,
): Pick<CanonicalRequest, 'modalities' | 'audio' | 'image_config'> {
  const words = list(body['modalities'], 'modalities')?.map((word, i) => string(word, `modalities.${i}`) ?? '') ?? []
  const requested = supported.filter((word) => words.includes(word))
  if (words.some((word) => !supported.some((one) => one === word))) losses.add('modalities')
  const audio = requested.includes('audio') ? soundOf(body) : undefined
  return compact({
    modalities: requested.some((word) => word !== 'text') ? requested : undefined,
    audio,
    image_config: requested.includes('image') ? pictureOf(body, losses) : undefined,
  })
}

function soundOf(body: Json): NonNullable<CanonicalRequest['audio']> {
  const audio = object(body['audio'], 'audio') ?? missing('audio')
  const format = string(audio['format'], 'audio.format') ?? missing('audio.format')
  if (body['stream'] === true && format !== 'pcm16')
    refuse('invalid_parameter', {
      param: 'audio.format',
      message: '`audio.format` must be `pcm16` if `stream` is true, because other formats can’t be streamed.',
    })
  const { voice } = audio
  const name = typeof voice === 'string' ? voice : string(object(voice, 'audio.voice')?.['id'], 'audio.voice.id')
  return compact({ format, voice: name })
}

function pictureOf(body: Json, losses: Losses): CanonicalRequest['image_config'] {
  const { aspect_ratio, image_size, ...rest } = object(body['image_config'], 'image_config') ?? {}
  for (const name of Object.keys(rest)) losses.add(`image_config.${name}`)
  const config = compact({
    aspect_ratio: string(aspect_ratio, 'image_config.aspect_ratio'),
    image_size: string(image_size, 'image_config.image_size'),
  })
  return Object.keys(config).length > 0 ? config : undefined
}
