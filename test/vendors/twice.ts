import type { Socket } from 'node:net'
import { type RawAnswer, type Raw, type RawAsked, startRaw, writtenAnswer } from './raw.ts'

/** A server that sends each answer twice. */
export interface Twice extends Raw {
  /** Second answers that arrived before the answer to another request, which had to take them for its own. */
  misplaced: number
  /** Second answers that arrived without another request. */
  unasked: number
}

const AGAIN_MS = 30

/**
 * Answers each request, and repeats the same bytes 30 ms later. A client that reuses the connection sooner gets that
 * second answer first: the worst case for reused connections.
 */
export async function startTwice(answer: (request: RawAsked) => RawAnswer | Promise<RawAnswer>): Promise<Twice> {
  const again = new WeakMap<Socket, { bytes: string; timer: NodeJS.Timeout }>()
  async function tell(request: RawAsked, socket: Socket): Promise<void> {
    const bytes = writtenAnswer(await answer(request))
    const before = again.get(socket)
    if (before !== undefined) {
      clearTimeout(before.timer)
      twice.misplaced++
      socket.write(before.bytes)
    }
    socket.write(bytes)
    const timer = setTimeout(() => {
      again.delete(socket)
      if (socket.destroyed) return
      twice.unasked++
      socket.write(bytes)
    }, AGAIN_MS)
    again.set(socket, { bytes, timer })
  }
  const twice = Object.assign(await startRaw((request, socket) => void tell(request, socket)), {
    misplaced: 0,
    unasked: 0,
  })
  return twice
}
