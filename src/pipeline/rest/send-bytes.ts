import type { IncomingMessage, ServerResponse } from 'node:http'
import { nextPiece } from '#infra/confined/slices.ts'
import { type Bytes, isStored } from '#core/answers.ts'
import { PIECE } from '#core/json/json-pieces.ts'
import { choose } from './stored.ts'

/** Writes bytes as fast as they are taken, and no faster. */
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
    // Bytes that cannot be read are refused before anything of them is promised.
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
    // What makes the bytes may hold up others as long as what writes them.
    if (inARow > 0 && inARow + part.length > PIECE) {
      inARow = 0
      await nextPiece(account)
    }
    inARow += part.length
    await takeBytes(response, part)
  }
  end(response, signal)
}

/** Ends an answer; one that was broken off must not be taken for whole. */
const end = (response: ServerResponse, signal: AbortSignal): void =>
  void (signal.aborted ? response.destroy() : response.end())

/**
 * Resolves when the system has taken these bytes, so that their buffer may be used again, or the connection is gone.
 */
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

/** A reader that takes nothing for so long has left. */
const STALL_MS = 300_000

/** Writes bytes. Resolves when there is room for more, or the connection is gone. */
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
