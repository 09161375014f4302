import type { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import type pg from 'pg'
import { readTurns } from '#packages/fair-queue/read-turns.ts'
import { noteResult } from './statement-limits.ts'

const AT_ONCE = 256 << 10

/** A field of pg's client that its types omit. */
interface Inside {
  connection: EventEmitter & { stream: Socket }
}

/**
 * Reads long results in turns per account, like request bodies: parsing megabytes from ten connections in one
 * event-loop turn blocks everyone. Call for a ready connection.
 */
export function paceResults(client: pg.ClientBase): void {
  const { connection } = client as unknown as Inside
  const { stream } = connection
  let bytes = 0
  let isOver = false
  connection.on('readyForQuery', () => (isOver = true))
  // pg has already parsed the chunk.
  stream.on('data', (piece: Buffer) => {
    bytes += piece.length
    const account = noteResult(client, piece.length)
    if (isOver) {
      isOver = false
      bytes = 0
    } else if (bytes >= AT_ONCE) readTurns.pace(stream, account)
  })
}
