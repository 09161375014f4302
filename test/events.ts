import assert from 'node:assert/strict'
import type { Caller } from './server.ts'

export interface SentEvent {
  id: string
  event: string
  // Untyped, because tests inspect responses freely.
  data: any
}

/** Reads a stream; stopping the iteration disconnects. */
export async function* readEvents(
  { origin, headers: credentials }: Caller,
  path: string,
  { body, headers = {} }: { body?: unknown; headers?: Record<string, string> } = {},
): AsyncGenerator<SentEvent, void, undefined> {
  const leave = new AbortController()
  const response = await fetch(new URL(`/v1${path}`, origin), {
    method: body === undefined ? 'GET' : 'POST',
    headers: { ...credentials, ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
    signal: leave.signal,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  assert.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8', await peek(response))
  try {
    let rest = ''
    for await (const part of response.body!.pipeThrough(new TextDecoderStream())) {
      const frames = (rest + part).split('\n\n')
      rest = frames.pop()!
      for (const frame of frames) if (!frame.startsWith(':')) yield parse(frame)
    }
  } finally {
    leave.abort()
  }
}

export const allEvents = (...of: Parameters<typeof readEvents>): Promise<SentEvent[]> =>
  Array.fromAsync(readEvents(...of))

export const types = (events: readonly SentEvent[]): string[] => events.map(({ event }) => event)

function parse(frame: string): SentEvent {
  const fields = Object.fromEntries(
    frame.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
  )
  return { id: fields.id!, event: fields.event!, data: JSON.parse(fields.data!) }
}

const peek = async (response: Response): Promise<string> =>
  response.headers.get('content-type')?.includes('json') ? response.text() : ''
