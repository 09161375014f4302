import type { IncomingMessage, ServerResponse } from 'node:http'
import { nextPiece } from '#packages/fair-queue/slices.ts'
import { type Bytes, isStored } from '#core/answers.ts'
import { PIECE } from '#core/json/json-pieces.ts'
import { choose } from './stored.ts'

export async function sendBytes(
  request: IncomingMessage,
  response: ServerResponse,
  { status = 200, headers, body }: Bytes,
  signal: AbortSignal,
  account: string,
): Promise<void> {
  if (isStored(body)) {
    const { status, headers: further, range } = choose(body, request.headers)
    const headless = range === null || request.method === 'HEAD' || range.start === range.end
    // Read errors must be reported before the head is sent.
    const parts = headless ? null : body.read(range)[Symbol.asyncIterator]()
    let next = parts && (await parts.next())
    response.writeHead(status, { ...headers, ...further })
    if (parts === null || next === null) return void response.end()
    try {
      for (; next.done !== true && !signal.aborted; next = await parts.next()) await writePart(response, next.value)
    } finally {
      await parts.return?.()
    }
    return end(response, signal)
  }
  response.writeHead(status, headers)
  if (body === null || typeof body === 'string' || body instanceof Uint8Array)
    return void response.end(body ?? undefined)
  if (request.method === 'HEAD') return void response.end()
  let inARow = 0
  for await (const part of body) {
    if (signal.aborted) break
    // Yields between chunks, because producing bytes may block as long as writing them.
    if (inARow > 0 && inARow + part.length > PIECE) {
      inARow = 0
      await nextPiece(account)
    }
    inARow += part.length
    await takeBytes(response, part)
  }
  end(response, signal)
}

/** Ends a response. An interrupted one must not look complete. */
const end = (response: ServerResponse, signal: AbortSignal): void =>
  void (signal.aborted ? response.destroy() : response.end())

/** Resolves when the bytes were sent and their buffer is reusable, or the connection was lost. */
function writePart(response: ServerResponse, part: Uint8Array): Promise<void> {
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

const STALL_MS = 300_000

export async function takeBytes(response: ServerResponse, bytes: Uint8Array): Promise<void> {
  if (response.write(bytes) || response.destroyed) return
  await new Promise<void>((resolve) => {
    const stall = setTimeout(() => response.destroy(), STALL_MS).unref()
    const go = () => {
      clearTimeout(stall)
      response.off('drain', go).off('close', go)
      resolve()
    }
    response.on('drain', go).on('close', go)
  })
}
