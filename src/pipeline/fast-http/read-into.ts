import { Socket } from 'node:net'

/** Takes so many bytes, which are gone when it returns. False: no more is to be read for now. */
export type Take = (size: number) => boolean

/** The part of a Node socket that its types do not tell. */
interface Inside extends Socket {
  [inside: symbol]: unknown
  _handle?: { useUserBuffer?(memory: Buffer): void } | null
}

// Node reads into memory of its user only where a program connects (`onread`), and takes fresh memory for each read of
// a connection that it accepted. Whatever a socket with `onread` has for it, an accepted one can be given.
const memory = Buffer.allocUnsafeSlow(1)
const take = (): boolean => true
const probe = new Socket({ onread: { buffer: memory, callback: take } }) as Inside
const [MEMORY, TAKE] = [memory, take].map((value) =>
  Object.getOwnPropertySymbols(probe).find((name) => probe[name] === value),
)

/**
 * Reads the bytes of an accepted connection into `room`, which other connections may share, and tells `into`; the
 * socket has no `data` events any more. Answers false where this Node cannot do that, and changes nothing then.
 */
export function readInto(socket: Socket, room: Buffer, into: Take): boolean {
  const inside = socket as Inside
  if (MEMORY === undefined || TAKE === undefined) return false
  if (inside[MEMORY] !== null || typeof inside._handle?.useUserBuffer !== 'function') return false
  inside[MEMORY] = room
  inside[TAKE] = into
  inside._handle.useUserBuffer(room)
  return true
}

/** Lets such a socket have its `data` again. */
export function readAgain(socket: Socket): void {
  const inside = socket as Inside
  if (TAKE === undefined || inside[MEMORY!] === null) return
  inside[TAKE] = (size: number, room: Buffer): boolean => socket.push(Buffer.from(room.subarray(0, size)))
}
