import { noMedia } from '../../model/cost/cost.ts'
import { usageOf } from '#core/usage.ts'
import { eventsFromEnd } from '../../wire/streams/events-from-end.ts'
import { readStreamFault } from '../../wire/faults/faults.ts'
import { countOf, isObject, type Json, objectOf, parseJson } from '../../model/json.ts'
import type { PassthroughFormat, Media } from './format.ts'
import { pictureEvents, speechEvents, transcriptEvents } from './media-events.ts'
import { type Reading, emptyReading } from '../../model/in-progress.ts'
import { openaiChat } from './openai-chat.ts'

/** Formats that OpenAI has beside conversations. None is translated: a provider that does not support one does not serve it. */
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
    // Jina and Voyage count in the total alone.
    const told = [counts.prompt_tokens, counts.input_tokens, counts.total_tokens].find((one) => typeof one === 'number')
    const usage = told === undefined ? null : usageOf({ input_tokens: countOf(told) })
    return { ...emptyReading(), usage, ended: true }
  },
}

/** Free of charge at OpenAI, and counted by nobody. */
export const openaiModerations: PassthroughFormat = {
  ...base,
  path: '/moderations',
  usualModel: 'omni-moderation-latest',
  readWhole: (json) =>
    Array.isArray(json.results) ? { ...emptyReading(), usage: usageOf({}), ended: true } : base.readWhole(json),
}

/** Completions of a bare prompt, from before there were chats. */
export const openaiCompletions: PassthroughFormat = {
  ...openaiChat,
  path: '/completions',
  limitFields: ['max_tokens'],
}

const passed = (path: string, media: Media): PassthroughFormat => ({ ...base, path, media })

/** The most images that are counted: more than any vendor makes at once, and dear enough. */
const MOST_IMAGES = 1_000_000

const pictures: Media = {
  images: ({ n }) =>
    typeof n === 'number' || typeof n === 'string' ? Math.min(MOST_IMAGES, Math.max(1, Math.ceil(Number(n)) || 1)) : 1,
  read(request, { pricing }, contentType, tail) {
    const usage = usageAtEnd(contentType, tail)
    const images = pictures.images!(request)
    // One of the two: a source prices pictures or their tokens.
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
    // Speech is what came out of it, text what is written down.
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
  passed('/images/generations', { ...pictures, events: pictureEvents('image_generation.completed') }),
  passed('/images/edits', { ...pictures, events: pictureEvents('image_edit.completed') }),
  passed('/images/variations', pictures),
]
export const openaiAudio = [
  passed('/audio/speech', { ...sound, events: speechEvents }),
  passed('/audio/transcriptions', { ...sound, events: transcriptEvents }),
  passed('/audio/translations', sound),
]

const tokensOf = (usage: Json): Reading['usage'] =>
  usageOf({ input_tokens: countOf(usage.input_tokens), output_tokens: countOf(usage.output_tokens) })

/** The last `usage` that an answer tells, whole or as events; null where it tells none, as sound does not. */
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
