import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Admitted } from './tools/door.ts'
import { accepts } from '#core/text/accept.ts'

/** The request as the SDK wants it; the body goes along only where it was not parsed already. */
export function webRequest(
  { headers }: IncomingMessage,
  { body, signal, origin }: Admitted,
  withBody: boolean,
): Request {
  const given = new Headers()
  for (const [name, value] of Object.entries(headers)) if (typeof value === 'string') given.set(name, value)
  // The SDK compares words: it gets the types themselves, whatever wildcards or weights name them.
  given.set(
    'accept',
    ['application/json', 'text/event-stream'].filter((type) => accepts(headers.accept, type)).join(', ') || 'none/none',
  )
  return new Request(`${origin}/mcp`, {
    method: 'POST',
    headers: given,
    signal,
    ...(withBody && { body: Uint8Array.from(body) }),
  })
}

/** Writes an answer part by part as it comes: a stream's event is on the wire before the next is made. */
export async function sendWeb(response: ServerResponse, answer: Response): Promise<void> {
  if (response.destroyed) return void answer.body?.cancel()
  const headers = Object.fromEntries(answer.headers)
  if (!answer.headers.get('content-type')?.startsWith('text/event-stream')) {
    const bytes = Buffer.from(await answer.arrayBuffer())
    return void response
      .writeHead(answer.status, { 'cache-control': 'no-store', ...headers, 'content-length': bytes.length })
      .end(bytes)
  }
  response.writeHead(answer.status, { ...headers, 'cache-control': 'no-store', 'x-accel-buffering': 'no' })
  response.flushHeaders()
  const reader = answer.body!.getReader()
  const left = () => void reader.cancel().catch(() => {})
  response.once('close', left)
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    if (response.destroyed) break
    if (!response.write(part.value))
      await new Promise<void>((resolve) => response.once('drain', resolve).once('close', resolve))
  }
  response.off('close', left)
  if (!response.destroyed) response.end()
}
