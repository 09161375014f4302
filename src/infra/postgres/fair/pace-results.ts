import type { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import type pg from 'pg'
import { readTurns } from '#infra/bodies/read-turns.ts'
import { noteResult } from './statement-limits.ts'

/** Bytes of a result that come at once. A longer one comes by turns. */
const AT_ONCE = 256 << 10

/** The member of pg's client that its types leave out. */
interface Inside {
  connection: EventEmitter & { stream: Socket }
}

/**
 * Lets long results come by turns of the accounts that read them, as bodies of requests do: parsing megabytes of rows from
 * ten connections in one turn of the event loop holds up everyone else. Called for a connection that is ready.
 */
export function paceResults(client: pg.ClientBase): void {
  const { connection } = client as unknown as Inside
  const { stream } = connection
  let bytes = 0
  let isOver = false
  connection.on('readyForQuery', () => (isOver = true))
  // pg has parsed the piece when this is called.
  stream.on('data', (piece: Buffer) => {
    bytes += piece.length
    const account = noteResult(client, piece.length)
    if (isOver) {
      isOver = false
      bytes = 0
    } else if (bytes >= AT_ONCE) readTurns.pace(stream, account)
  })
}
