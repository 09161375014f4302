import { isObject, type Json, listOf, objectOf, parseJson, textOf } from '../../model/json.ts'
import type { MediaEvents } from './format.ts'

const line = (event: Json): string => `event: ${textOf(event.type)}\ndata: ${JSON.stringify(event)}\n\n`

/** In forms it is text. */
const isStreamed = ({ stream }: Json): boolean => stream === true || stream === 'true'

const isJson = (contentType: string): boolean => /json/i.test(contentType)
const parseWhole = (whole: Buffer): Json => objectOf(parseJson(whole.toString()))

export const pictureEvents = (type: string): MediaEvents => ({
  wanted: isStreamed,
  write(contentType, whole) {
    if (!isJson(contentType)) return null
    const { created: createdAt, data, ...about } = parseWhole(whole)
    if (!Array.isArray(data)) return null
    return listOf(data)
      .filter(isObject)
      .map((picture) => line({ type, created_at: createdAt, ...about, ...picture }))
      .join('')
  },
})

export const speechEvents: MediaEvents = {
  wanted: ({ stream_format }) => stream_format === 'sse',
  write: (contentType, whole) =>
    isJson(contentType) || whole.length === 0
      ? null
      : line({ type: 'speech.audio.delta', audio: whole.toString('base64') }) +
        line({ type: 'speech.audio.done', usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 } }),
}

/** Models such as whisper-1 ignore `stream`. */
export const transcriptEvents: MediaEvents = {
  wanted: isStreamed,
  write(contentType, whole) {
    if (!isJson(contentType)) return line({ type: 'transcript.text.done', text: whole.toString() })
    const { text, usage } = parseWhole(whole)
    if (typeof text !== 'string') return null
    return line({ type: 'transcript.text.done', text, ...(isObject(usage) && { usage }) })
  },
}
