import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Bytes, isStored } from '#kernel/answers.ts'
import { choose } from './stored.ts'

/** Writes bytes as fast as they are taken, and no faster. */
export async function sendBytes(
  request: IncomingMessage,
  response: ServerResponse,
  { status = 200, headers, body }: Bytes,
  signal: AbortSignal,
): Promise<void> {
  if (isStored(body)) {
    const { status, headers: further, range } = choose(body, request.headers)
    const headless = range === null || request.method === 'HEAD' || range.start === range.end
    // Bytes that cannot be read are refused before anything of them is promised.
    const parts = headless ? null : body.read(range)[Symbol.asyncIterator]()
    let next = parts && (await parts.next())
    response.writeHead(status, { ...headers, ...further })
    if (parts === null || next === null) return void response.end()
    try {
      for (; next.done !== true && !signal.aborted; next = await parts.next()) await written(response, next.value)
    } finally {
      await parts.return?.()
    }
    return end(response, signal)
  }
  response.writeHead(status, headers)
  if (body === null || typeof body === 'string' || body instanceof Uint8Array)
    return void response.end(body ?? undefined)
  if (request.method === 'HEAD') return void response.end()
  for await (const part of body) {
    if (signal.aborted) break
    if (!response.write(part)) await drained(response)
  }
  end(response, signal)
}

/** Ends an answer; one that was broken off must not be taken for whole. */
const end = (response: ServerResponse, signal: AbortSignal): void =>
  void (signal.aborted ? response.destroy() : response.end())

/**
 * Resolves when the system has taken these bytes, so that their buffer may be used again, or the connection is gone.
 */
function written(response: ServerResponse, part: Uint8Array): Promise<void> {
  return new Promise((resolve) => {
    if (response.destroyed) return resolve()
    const go = () => {
      response.off('close', go)
      resolve()
    }
    response.on('close', go)
    response.write(part, go)
  })
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const go = () => {
      response.off('drain', go).off('close', go)
      resolve()
    }
    response.on('drain', go).on('close', go)
  })
}
