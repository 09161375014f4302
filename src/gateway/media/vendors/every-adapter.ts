import type { MediaOffer, ProviderEndpoint, Shape } from '../../model/offer.ts'
import type { MediaQuirks } from '../../providers/media-quirks.ts'
import { quirksOwner } from '../../providers/supports.ts'
import { upstreamOf } from '../../providers/upstream.ts'
import type { MediaAdapter } from '../adapter.ts'
import { blackForestLabs } from './black-forest-labs.ts'
import { deepgram } from './deepgram.ts'
import { elevenlabs } from './elevenlabs.ts'
import { fal } from './fal.ts'
import { gemini } from './gemini/gemini.ts'
import { openaiImages } from './openai/images.ts'
import { openaiSpeech } from './openai/speech.ts'
import { openaiTranscriptions } from './openai/transcriptions.ts'
import { openaiVideos } from './openai/videos.ts'
import { replicate } from './replicate.ts'
import { stability } from './stability.ts'
import { workflowImages } from './workflow-images.ts'

const byShape: Partial<Record<Shape, MediaAdapter>> = {
  gemini,
  elevenlabs,
  deepgram,
  replicate,
  fal,
  'black-forest-labs': blackForestLabs,
  stability,
}

const openaiShapes: ReadonlySet<Shape> = new Set(['openai-chat', 'openai-responses', 'ollama'])
const NOTHING: MediaAdapter = {}

function openaiShaped({ image, speech, transcription, video }: MediaQuirks): MediaAdapter {
  return {
    ...(image !== null && {
      image: image?.workflows ? workflowImages : openaiImages(image ?? {}),
      mostImages: () => (image?.workflows ? 1 : (image?.most ?? null)),
    }),
    ...(speech !== null && { speech: openaiSpeech(speech ?? {}) }),
    ...(transcription !== null && { transcription: openaiTranscriptions(transcription ?? {}) }),
    ...(video !== null && { video: openaiVideos }),
  }
}

const quirksAt: Readonly<Record<string, 'image' | 'speech' | 'transcription'>> = {
  '/images/generations': 'image',
  '/images/edits': 'image',
  '/audio/speech': 'speech',
  '/audio/transcriptions': 'transcription',
}

/** True if a client's own request keeps its meaning at this path. */
export function isAskedAsOpenai({ endpoint, media }: MediaOffer, path: string): boolean {
  const kind = quirksAt[path]
  if (kind === undefined || kind !== media.kind) return false
  const quirks = quirksOwner(endpoint)?.media?.[kind]
  return quirks === undefined || (quirks !== null && Object.keys(quirks).length === 0)
}

export const takesOpenaiFields = (endpoint: ProviderEndpoint): boolean =>
  openaiShapes.has(endpoint.shape) && endpoint.dispatch === undefined

const adapters = new Map<string, MediaAdapter>()

export function adapterOf(endpoint: ProviderEndpoint): MediaAdapter {
  // Its requests use a transport, which only supports text, or don't use HTTP.
  if (upstreamOf(endpoint).transport !== null || endpoint.dispatch !== undefined) return NOTHING
  if (!openaiShapes.has(endpoint.shape)) return byShape[endpoint.shape] ?? NOTHING
  const owner = quirksOwner(endpoint)
  const key = owner?.id ?? ''
  const before = adapters.get(key)
  if (before) return before
  const adapter = openaiShaped(owner?.media ?? {})
  adapters.set(key, adapter)
  return adapter
}
