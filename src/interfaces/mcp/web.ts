import type { IncomingMessage, ServerResponse } from 'node:http'
import type { LargeResults } from './large-results.ts'
import type { Admitted } from './tools/door.ts'
import { accepts } from '#core/text/accept.ts'

/** Converts the request for the SDK. The body is included only if it wasn't parsed already. */
export function webRequest(
  { headers }: IncomingMessage,
  { body, signal, origin }: Admitted,
  withBody: boolean,
): Request {
  const given = new Headers()
  for (const [name, value] of Object.entries(headers)) if (typeof value === 'string') given.set(name, value)
  // The SDK compares strings, so it gets plain types without wildcards or weights.
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

/** Streams a response: each event is sent before the next is created. Large results are written in pieces. */
export async function sendWeb(
  response: ServerResponse,
  answer: Response,
  large: LargeResults,
  { nextPiece }: Pick<Admitted, 'nextPiece'>,
): Promise<void> {
  if (response.destroyed) return void answer.body?.cancel()
  const headers = Object.fromEntries(answer.headers)
  if (!answer.headers.get('content-type')?.startsWith('text/event-stream')) {
    const parts: Buffer[] = []
    for await (const part of filled(await answer.bytes(), large, nextPiece)) {
      if (response.destroyed) return
      parts.push(part)
    }
    const length = parts.reduce((sum, part) => sum + part.length, 0)
    response.writeHead(answer.status, { 'cache-control': 'no-store', ...headers, 'content-length': length })
    for (const part of parts.slice(0, -1)) {
      await written(response, part)
      await nextPiece()
    }
    return void response.end(parts.at(-1))
  }
  response.writeHead(answer.status, { ...headers, 'cache-control': 'no-store', 'x-accel-buffering': 'no' })
  response.flushHeaders()
  const reader = answer.body!.getReader()
  const left = () => void reader.cancel().catch(() => {})
  response.once('close', left)
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    for await (const bytes of filled(part.value, large, nextPiece)) {
      if (response.destroyed) break
      await written(response, bytes)
    }
    if (response.destroyed) break
  }
  response.off('close', left)
  if (!response.destroyed) response.end()
}

/** The bytes of a message, with the large results in the place of their stand-ins. */
async function* filled(
  message: Uint8Array,
  large: LargeResults,
  nextPiece: () => Promise<void>,
): AsyncGenerator<Buffer, void, undefined> {
  const bytes = Buffer.from(message.buffer, message.byteOffset, message.byteLength)
  if (large.isEmpty) {
    yield bytes
    return
  }
  for (const piece of large.pieces(bytes.toString())) {
    yield Buffer.from(piece)
    await nextPiece()
  }
}

/** Writes bytes. Resolves when there is room for more, or the connection is closed. */
async function written(response: ServerResponse, bytes: Buffer): Promise<void> {
  if (response.destroyed || response.write(bytes)) return
  await new Promise<void>((resolve) => response.once('drain', resolve).once('close', resolve))
}
