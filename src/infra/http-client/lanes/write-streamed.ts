import type { Socket } from 'node:net'
import type { StreamedBody } from '../send.ts'

/**
 * Writes a body as fast as the other side takes it, for as long as it is `wanted`: an answer may come before its end, and
 * then nobody waits for the rest. Throws when the source breaks, or does not hold as many bytes as were announced.
 */
export async function writeStreamed(
  socket: Socket,
  { bytes, length }: StreamedBody,
  isWanted: () => boolean,
): Promise<void> {
  let bytesRead = 0
  // Held back until the next has come: with the last one the request would be whole, though the source be longer.
  let last: Buffer | null = null
  for await (const part of bytes) {
    if (!isWanted()) return
    bytesRead += part.length
    if (bytesRead > length) break
    if (last !== null && !socket.write(last)) await waitForDrain(socket)
    // A source may use the memory of a part again once the next is asked for.
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
