import { Socket } from 'node:net'

/** Consumes `size` bytes, which are invalid after it returns. False: stop reading for now. */
export type Take = (size: number) => boolean

interface Inside extends Socket {
  [inside: symbol]: unknown
  _handle?: { useUserBuffer?(memory: Buffer): void } | null
}

// Node offers reads into user memory (`onread`) only for outgoing connections and allocates memory for each read of an
// accepted one. An accepted socket can be given the same fields.
const memory = Buffer.allocUnsafeSlow(1)
const take = (): boolean => true
const probe = new Socket({ onread: { buffer: memory, callback: take } }) as Inside
const [MEMORY, TAKE] = [memory, take].map((value) =>
  Object.getOwnPropertySymbols(probe).find((name) => probe[name] === value),
)

/**
 * Reads an accepted socket into `room`, which connections may share, and calls `into`; `data` events stop. Returns
 * false, without changes, if this Node version doesn't support it.
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

export function readAgain(socket: Socket): void {
  const inside = socket as Inside
  if (TAKE === undefined || inside[MEMORY!] === null) return
  inside[TAKE] = (size: number, room: Buffer): boolean => socket.push(Buffer.from(room.subarray(0, size)))
}
