/** One event of a stream. */
export interface ReceivedEvent {
  /** Where to resume: the latest `id:` of the stream. */
  id?: string
  event: string
  data: unknown
}

/**
 * Parses server-sent events from bytes split anywhere. `data` is parsed as JSON; comments are heartbeats and
 * skipped. https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
 */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ReceivedEvent> {
  let event = ''
  let data: string[] = []
  let id: string | undefined
  for await (const line of linesOf(body)) {
    if (line === '') {
      if (data.length > 0)
        yield {
          ...(id !== undefined && { id }),
          event: event || 'message',
          data: JSON.parse(data.join('\n')) as unknown,
        }
      event = ''
      data = []
      continue
    }
    const colon = line.indexOf(':')
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(colon + (line[colon + 1] === ' ' ? 2 : 1))
    if (field === 'event') event = value
    else if (field === 'data') data.push(value)
    else if (field === 'id' && !value.includes('\0')) id = value
  }
}

/** Splits at LF, CR or CRLF, which may itself be split. */
async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  const reader = body.getReader()
  let rest = ''
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      rest += decoder.decode(part.value, { stream: true })
      // A CR at the end may be the first half of a CRLF.
      const lines = rest.split(/\r\n|\n|\r(?!$)/)
      rest = lines.pop()!
      yield* lines
    }
    if (rest.endsWith('\r')) yield rest.slice(0, -1)
  } finally {
    await reader.cancel().catch(() => {})
  }
}
