import { eventsFromEnd } from '../../wire/streams/events-from-end.ts'
import { readStreamFault } from '../../wire/faults/faults.ts'
import { isObject, type Json, parseJson } from '../../model/json.ts'
import { usageIn } from '../../wire/openai-chat/usage.ts'
import { type PassthroughFormat, usageAtEnd, wordBefore } from './format.ts'
import { type Reading, emptyReading } from '../../model/in-progress.ts'

/** Events searched from the end of a stream: usage, finish, and `[DONE]` are the last ones. */
const LAST_EVENTS = 6

export const openaiChat: PassthroughFormat = {
  shape: 'openai-chat',
  path: '/chat/completions',
  forwardedHeaders: [
    'user-agent',
    'openai-beta',
    'idempotency-key',
    'http-referer',
    'x-title',
    'x-openrouter-title',
    'x-openrouter-categories',
    'x-openrouter-metadata',
    'x-openrouter-experimental-metadata',
    'x-openrouter-cache',
    'x-openrouter-cache-ttl',
    'x-openrouter-cache-clear',
    'x-session-id',
  ],
  forwardedOnOwnKey: ['openai-organization', 'openai-project'],
  limitFields: ['max_completion_tokens', 'max_tokens'],
  usageOption: true,

  readWhole(json) {
    if (isObject(json.error) || typeof json.error === 'string')
      return { ...emptyReading(), ended: true, fault: readStreamFault(json.error) }
    if (!Array.isArray(json.choices)) return null
    return { ...emptyReading(), ...usedIn(json), finishReason: finishIn(json), ended: true }
  },

  readEnd(text) {
    const end = usageAtEnd(text)
    if (end === null || !text.includes('"choices":[')) return null
    const usageResult = usedIn({ usage: end.usage })
    if (usageResult.usage === null) return null
    return {
      ...emptyReading(),
      ...usageResult,
      finishReason: wordBefore(text, 'finish_reason', end.at),
      ended: true,
    }
  },

  readStream(_, tail) {
    const reading = emptyReading()
    let count = 0
    for (const event of eventsFromEnd(tail)) {
      if (count++ === LAST_EVENTS) break
      if (event === '[DONE]') {
        reading.ended = reading.closed = true
        continue
      }
      const json = parseJson(event)
      if (!isObject(json)) continue
      if (json.error !== undefined && json.error !== null) reading.fault ??= readStreamFault(json.error)
      if (reading.usage === null) Object.assign(reading, usedIn(json))
      reading.finishReason ??= finishIn(json)
      if (reading.usage !== null && reading.finishReason !== null) break
    }
    if (reading.finishReason !== null) reading.ended = true
    return reading
  },
}

function usedIn(json: Json): Pick<Reading, 'usage' | 'reportedUsd' | 'media'> {
  const topUsage = usageIn(json)
  return topUsage === null
    ? { usage: null }
    : { usage: topUsage.usage, reportedUsd: topUsage.cost_usd, media: topUsage.media }
}

function finishIn({ choices }: Record<string, unknown>): string | null {
  const [choice] = Array.isArray(choices) ? (choices as unknown[]) : []
  const word = isObject(choice) ? choice.finish_reason : null
  return typeof word === 'string' ? word : null
}
