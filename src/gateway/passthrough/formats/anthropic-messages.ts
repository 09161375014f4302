import { eventsFromEnd } from '../../wire/streams/events-from-end.ts'
import { mergeUsage, readUsage } from '../../wire/anthropic-messages/usage.ts'
import { readStreamFault } from '../../wire/faults/faults.ts'
import { type Json, isObject, objectOf, parseJson } from '../../model/json.ts'
import { type PassthroughFormat, usageAtEnd, wordBefore } from './format.ts'
import { emptyReading } from '../../model/in-progress.ts'

const LAST_EVENTS = 8

export const anthropicMessages: PassthroughFormat = {
  shape: 'anthropic-messages',
  path: '/v1/messages',
  forwardedHeaders: ['user-agent', 'anthropic-version', 'anthropic-beta', 'idempotency-key'],
  forwardedOnOwnKey: ['anthropic-workspace-id', 'anthropic-user-profile-id'],
  limitFields: ['max_tokens'],
  usageOption: false,

  readWhole(json) {
    if (isObject(json.error)) return { ...emptyReading(), ended: true, fault: readStreamFault(json.error) }
    if (!Array.isArray(json.content)) return null
    return {
      ...emptyReading(),
      usage: readUsage(json.usage)?.usage ?? null,
      finishReason: wordOf(json.stop_reason),
      ended: true,
    }
  },

  readEnd(text) {
    const end = usageAtEnd(text)
    if (end === null || !text.includes('"content":[')) return null
    return {
      ...emptyReading(),
      usage: readUsage(end.usage)?.usage ?? null,
      finishReason: wordBefore(text, 'stop_reason', end.at),
      ended: true,
    }
  },

  readStream(head, tail) {
    const reading = emptyReading()
    let last: Json = {}
    let count = 0
    for (const event of eventsFromEnd(tail)) {
      if (count++ === LAST_EVENTS) break
      const json = parseJson(event)
      if (!isObject(json)) continue
      if (json.type === 'message_stop') reading.ended = reading.closed = true
      if (json.type === 'error') reading.fault ??= readStreamFault(json.error)
      if (json.type !== 'message_delta' && json.type !== 'message_stop') continue
      reading.finishReason ??= wordOf(objectOf(json.delta).stop_reason)
      last = mergeUsage(objectOf(json.usage), last)
    }
    const usage = mergeUsage(firstUsage(head), last)
    if (Object.keys(usage).length > 0) reading.usage = readUsage(usage)?.usage ?? null
    return reading
  },
}

const wordOf = (value: unknown): string | null => (typeof value === 'string' ? value : null)

function firstUsage(head: string): Json {
  const line = /^data:([^\n]*"message_start"[^\n]*)$/m.exec(head)
  return line ? objectOf(objectOf(objectOf(parseJson(line[1]!)).message).usage) : {}
}

export const anthropicCount: PassthroughFormat = {
  ...anthropicMessages,
  path: '/v1/messages/count_tokens',
  readEnd: () => null,
  readWhole: (json) =>
    typeof json.input_tokens === 'number' ? { ...emptyReading(), ended: true } : anthropicMessages.readWhole(json),
}
