import type { Event } from '#core/answers.ts'
import { Refusal } from '#core/errors.ts'

/** Below the 60 seconds MCP clients wait. */
export const COLLECT_SECONDS = 50
export const COLLECT_BYTES = 262_144

export interface Collected {
  [key: string]: unknown
  events: Event[]
  /** False if there may be more. */
  complete: boolean
  /** Event ID to resume after. */
  last_event_id: string | null
}

interface Bounds {
  seconds?: number
  bytes?: number
}

/**
 * Reads a stream to its end or its limits. Joins consecutive deltas, since models pay per token. Throws the error that
 * ended the stream.
 */
export async function collect(
  events: AsyncIterable<Event>,
  ended: AbortSignal,
  onEvent: (event: Event) => void = () => {},
  { seconds = COLLECT_SECONDS, bytes = COLLECT_BYTES }: Bounds = {},
): Promise<Collected> {
  const collected: Collected = { events: [], complete: false, last_event_id: null }
  const iterator = events[Symbol.asyncIterator]()
  const stop = Promise.withResolvers<'stopped'>()
  const onStop = () => stop.resolve('stopped')
  const timer = setTimeout(onStop, seconds * 1000)
  ended.addEventListener('abort', onStop, { once: true })
  if (ended.aborted) onStop()
  let size = 0
  try {
    while (size < bytes) {
      const next = await Promise.race([iterator.next(), stop.promise])
      if (next === 'stopped') break
      if (next.done) {
        collected.complete = true
        break
      }
      size += JSON.stringify(next.value).length
      collected.last_event_id = next.value.id ?? collected.last_event_id
      append(collected.events, next.value)
      onEvent(next.value)
    }
  } finally {
    clearTimeout(timer)
    ended.removeEventListener('abort', onStop)
    // Not awaited: a blocked generator ends through its own signal.
    iterator.return?.().catch?.(() => {})
  }
  if (ended.reason instanceof Refusal) throw ended.reason
  return collected
}

type Delta = Record<string, unknown> & { delta: string }

/** Fields that differ between deltas of one text besides the text: position and time. */
const passing = new Set(['delta', 'seq', 'at'])

function append(events: Event[], event: Event): void {
  const last = events.at(-1)
  if (last?.event === event.event && isDelta(last.data) && isDelta(event.data) && sameText(last.data, event.data)) {
    events[events.length - 1] = { ...event, data: { ...event.data, delta: last.data.delta + event.data.delta } }
    return
  }
  events.push(event)
}

const isDelta = (data: unknown): data is Delta =>
  data !== null && typeof data === 'object' && 'delta' in data && typeof data.delta === 'string'

const sameText = (a: Delta, b: Delta): boolean =>
  [...new Set([...Object.keys(a), ...Object.keys(b)])].every((key) => passing.has(key) || a[key] === b[key])
