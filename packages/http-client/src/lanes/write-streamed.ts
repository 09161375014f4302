import type { Socket } from 'node:net'
import type { StreamedBody } from '../send.ts'

/**
 * Writes a body at the server's pace while `isWanted`; an early response ends it. Throws if the source fails or its
 * size differs from the announced one.
 */
export async function writeStreamed(
  socket: Socket,
  { bytes, length }: StreamedBody,
  isWanted: () => boolean,
): Promise<void> {
  let bytesRead = 0
  // Held back until the next chunk: otherwise a source that is too long would still complete the request.
  let last: Buffer | null = null
  for await (const part of bytes) {
    if (!isWanted()) return
    bytesRead += part.length
    if (bytesRead > length) break
    if (last !== null && !socket.write(last)) await waitForDrain(socket)
    // The source may reuse a chunk's memory.
    last = Buffer.from(part)
  }
  if (!isWanted()) return
  if (bytesRead !== length) throw new Error(`the body of a request should have ${length} bytes and had others`)
  if (last !== null && !socket.write(last)) await waitForDrain(socket)
}

function waitForDrain(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      socket.off('drain', done).off('close', done)
      resolve()
    }
    if (socket.destroyed) resolve()
    else socket.once('drain', done).once('close', done)
  })
}
