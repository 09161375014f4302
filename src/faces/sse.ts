export interface Received {
  id?: string
  event: string
  data: unknown
}

/**
 * Server-sent events out of bytes, however they are cut; `data` is parsed as JSON. Comments are heartbeats and vanish.
 * https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
 */
export async function* readEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<Received> {
  let id: string | undefined
  let event = ''
  let data: string[] = []
  for await (const line of lines(body)) {
    if (line === '') {
      if (data.length > 0)
        yield { ...(id !== undefined && { id }), event: event || 'message', data: JSON.parse(data.join('\n')) }
      event = ''
      data = []
      continue
    }
    const colon = line.indexOf(':')
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (field === 'event') event = value
    else if (field === 'data') data.push(value)
    else if (field === 'id' && !value.includes('\0')) id = value
  }
}

async function* lines(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const part of body) {
    rest += decoder.decode(part, { stream: true })
    // A CR at the very end may be half of a CRLF: it waits for what follows.
    for (let end = /\r\n|\n|\r(?!$)/.exec(rest); end; end = /\r\n|\n|\r(?!$)/.exec(rest)) {
      yield rest.slice(0, end.index)
      rest = rest.slice(end.index + end[0].length)
    }
  }
}
