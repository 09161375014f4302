import { noMedia } from '../../model/cost/cost.ts'
import { usageOf } from '#core/usage.ts'
import { eventsFromEnd } from '../../wire/streams/events-from-end.ts'
import { readStreamFault } from '../../wire/faults/faults.ts'
import { countOf, isObject, type Json, objectOf, parseJson } from '../../model/json.ts'
import type { PassthroughFormat, Media } from './format.ts'
import { pictureEvents, speechEvents, transcriptEvents } from './media-events.ts'
import { type Reading, emptyReading } from '../../model/in-progress.ts'
import { openaiChat } from './openai-chat.ts'

/** None is translated: a provider without a format doesn't serve it. */
const base: PassthroughFormat = {
  ...openaiChat,
  limitFields: [],
  usageOption: false,
  readWhole: (json) =>
    isObject(json.error)
      ? { ...emptyReading(), ended: true, fault: readStreamFault(json.error) }
      : { ...emptyReading(), ended: true },
  readEnd: () => null,
}

export const openaiEmbeddings: PassthroughFormat = {
  ...base,
  path: '/embeddings',
  readWhole(json) {
    if (isObject(json.error)) return base.readWhole(json)
    if (!Array.isArray(json.data) && !isObject(json.usage)) return null
    const counts = objectOf(json.usage)
    // Jina and Voyage only report the total.
    const tokens = [counts.prompt_tokens, counts.input_tokens, counts.total_tokens].find(
      (one) => typeof one === 'number',
    )
    const usage = tokens === undefined ? null : usageOf({ input_tokens: countOf(tokens) })
    return { ...emptyReading(), usage, ended: true }
  },
}

/** Free of charge at OpenAI, and not counted. */
export const openaiModerations: PassthroughFormat = {
  ...base,
  path: '/moderations',
  usualModel: 'omni-moderation-latest',
  readWhole: (json) =>
    Array.isArray(json.results) ? { ...emptyReading(), usage: usageOf({}), ended: true } : base.readWhole(json),
}

/** Completions of a plain prompt, the predecessor of chats. */
export const openaiCompletions: PassthroughFormat = {
  ...openaiChat,
  path: '/completions',
  limitFields: ['max_tokens'],
}

const mediaFormat = (path: string, media: Media): PassthroughFormat => ({ ...base, path, media })

/** Limit of counted images: more than any vendor generates at once, and expensive enough. */
const MAX_IMAGES = 1_000_000

const pictures: Media = {
  images: ({ n }) =>
    typeof n === 'number' || typeof n === 'string' ? Math.min(MAX_IMAGES, Math.max(1, Math.ceil(Number(n)) || 1)) : 1,
  read(request, { pricing }, contentType, tail) {
    const usage = usageAtEnd(contentType, tail)
    const images = pictures.images!(request)
    if (usage === null || pricing?.image !== undefined)
      return { ...emptyReading(), usage: usageOf({ images }), ended: true }
    return { ...emptyReading(), usage: tokensOf(usage), ended: true }
  },
}

const sound: Media = {
  images: null,
  read(_, __, contentType, tail) {
    const usage = usageAtEnd(contentType, tail)
    if (usage === null) return { ...emptyReading(), ended: true, unpriced: true }
    if (usage.type === 'duration')
      return { ...emptyReading(), usage: usageOf({ audio_seconds: countOf(usage.seconds) }), ended: true }
    const input = countOf(objectOf(usage.input_token_details ?? usage.input_tokens_details).audio_tokens)
    // Audio is output of speech, text is output of transcription.
    const output = contentType.startsWith('text/event-stream') && input === 0 ? countOf(usage.output_tokens) : 0
    return {
      ...emptyReading(),
      usage: tokensOf(usage),
      media: { ...noMedia, audioInput: input, audioOutput: output },
      ended: true,
    }
  },
}

export const openaiImages = [
  mediaFormat('/images/generations', { ...pictures, events: pictureEvents('image_generation.completed') }),
  mediaFormat('/images/edits', { ...pictures, events: pictureEvents('image_edit.completed') }),
  mediaFormat('/images/variations', pictures),
]
export const openaiAudio = [
  mediaFormat('/audio/speech', { ...sound, events: speechEvents }),
  mediaFormat('/audio/transcriptions', { ...sound, events: transcriptEvents }),
  mediaFormat('/audio/translations', sound),
]

const tokensOf = (usage: Json): Reading['usage'] =>
  usageOf({ input_tokens: countOf(usage.input_tokens), output_tokens: countOf(usage.output_tokens) })

/** Null for answers without usage, such as audio. */
export function usageAtEnd(contentType: string, tail: string): Json | null {
  if (/^text\/event-stream/i.test(contentType)) {
    for (const event of eventsFromEnd(tail)) {
      const usage = objectOf(parseJson(event)).usage
      if (isObject(usage)) return usage
    }
    return null
  }
  if (!/json/i.test(contentType)) return null
  const at = tail.lastIndexOf('"usage"')
  if (at < 0) return null
  const rest = parseJson(`{${tail.slice(at)}`)
  return isObject(rest) && isObject(rest.usage) ? rest.usage : null
}
