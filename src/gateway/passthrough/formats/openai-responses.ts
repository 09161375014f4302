import { eventsFromEnd } from '../../wire/streams/events-from-end.ts'
import { readStreamFault } from '../../wire/faults/faults.ts'
import { hasFailed, readFailure, reasonIn } from '../../wire/openai-responses/read-items.ts'
import { isObject, type Json, objectOf, parseJson, textOf } from '../../model/json.ts'
import { readUsage } from '../../wire/openai-responses/usage.ts'
import { endOfValue } from '../../model/json-bytes.ts'
import type { PassthroughFormat } from './format.ts'
import { type Reading, emptyReading } from '../../model/in-progress.ts'

/** The end is one event; some providers send a few more after it. */
const LAST_EVENTS = 4

export const openaiResponses: PassthroughFormat = {
  shape: 'openai-responses',
  path: '/responses',
  forwardedHeaders: [
    'user-agent',
    'openai-beta',
    'idempotency-key',
    'session-id',
    'x-session-id',
    'http-referer',
    'x-title',
  ],
  forwardedOnOwnKey: ['openai-organization', 'openai-project'],
  limitFields: ['max_output_tokens'],
  usageOption: false,

  readWhole(json) {
    if (Array.isArray(json.output)) return readResponse(json)
    if (isObject(json.error) || typeof json.error === 'string')
      return { ...emptyReading(), ended: true, fault: readStreamFault(json.error) }
    return null
  },

  // Its usage isn't the last field, and items inside have a status too.
  readEnd: () => null,

  readStream(_, tail) {
    let count = 0
    let endReading: Reading | null = null
    for (const event of eventsFromEnd(tail)) {
      if (count++ === LAST_EVENTS) break
      const json = parseJson(event)
      if (!isObject(json)) continue
      // An error may follow the failure that it explains, which has the usage.
      if (/^response\.(completed|incomplete|failed|cancell?ed)$/.test(textOf(json.type)))
        return { ...readResponse(responseIn(json)), closed: true, ...(endReading && { fault: endReading.fault }) }
      if (json.type === 'error')
        endReading ??= { ...emptyReading(), ended: true, fault: readStreamFault(reasonIn(json) ?? json.error ?? json) }
    }
    return endReading ?? endOfLarge(tail)
  },
}

/** The end of an event that is too large to hold: usage follows its output. */
function endOfLarge(tail: string): Reading {
  const at = tail.endsWith('\n\n') ? tail.lastIndexOf('"usage":{') : -1
  if (at < 0) return emptyReading()
  const bytes = Buffer.from(tail.slice(at + '"usage":'.length))
  try {
    const usage = readUsage(parseJson(bytes.toString('utf8', 0, endOfValue(bytes, 0))))
    return usage === null ? emptyReading() : { ...emptyReading(), usage, ended: true, closed: true }
  } catch {
    return emptyReading()
  }
}

const responseIn = (event: Json): Json => ({
  status: textOf(event.type).slice('response.'.length),
  ...objectOf(event.response),
})

function readResponse(response: Json): Reading {
  const error = reasonIn(response) ?? objectOf(response.error)
  const isFailed = hasFailed(response) || Object.keys(error).length > 0
  return {
    ...emptyReading(),
    usage: readUsage(response.usage),
    finishReason: textOf(objectOf(response.incomplete_details).reason) || textOf(response.status) || null,
    ended: true,
    fault: isFailed ? readFailure(error, response) : null,
  }
}

/** A conversation in, its compacted items out (`responses.compact` of openai 7.55.0); only the vendor can read them. */
export const responsesCompact: PassthroughFormat = {
  ...openaiResponses,
  path: '/responses/compact',
  limitFields: [],
  boundless: true,
}

export const responsesCount: PassthroughFormat = {
  ...openaiResponses,
  path: '/responses/input_tokens',
  readWhole: (json) =>
    typeof json.input_tokens === 'number' ? { ...emptyReading(), ended: true } : openaiResponses.readWhole(json),
}
