import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import type pg from 'pg'
import type { Db } from '../postgres/client.ts'

// Any number, the same in every process. Who removes bytes has a share of the lock, within the transaction that does.
const LOCK = 7_520_202
const AGAIN_MS = 50

/** Whether bytes may be removed until the end of this transaction: not while a backup is copying them. */
export async function mayRemoveBlobs(db: Db): Promise<boolean> {
  const { rows } = await sql<{ may: boolean }>`select pg_try_advisory_xact_lock_shared(${LOCK}) as may`.execute(db)
  return rows[0]!.may
}

/**
 * Keeps all bytes that rows name, from now until the connection ends: a backup that is killed holds up nothing. False where
 * another backup has them, after so many milliseconds of trying.
 */
export async function holdBlobs(client: pg.ClientBase, ms: number): Promise<boolean> {
  for (let remainingMs = ms; ; remainingMs -= AGAIN_MS) {
    const { rows } = await client.query<{ held: boolean }>('select pg_try_advisory_lock($1) as held', [LOCK])
    if (rows[0]!.held) return true
    if (remainingMs <= 0) return false
    await sleep(AGAIN_MS)
  }
}
