import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import type pg from 'pg'
import type { Db } from '../postgres/client.ts'

// An arbitrary number, the same in every process. Deletions take a shared lock within their transaction.
const LOCK = 7_520_202
const AGAIN_MS = 50

/** Whether blobs may be deleted in this transaction: not while a backup copies them. */
export async function mayRemoveBlobs(db: Db): Promise<boolean> {
  const { rows } = await sql<{ may: boolean }>`select pg_try_advisory_xact_lock_shared(${LOCK}) as may`.execute(db)
  return rows[0]!.may
}

/**
 * Blocks deletion of blobs until the connection ends, so a killed backup releases it. False if another backup still
 * holds the lock after `ms`.
 */
export async function holdBlobs(client: pg.ClientBase, ms: number): Promise<boolean> {
  for (let remainingMs = ms; ; remainingMs -= AGAIN_MS) {
    const { rows } = await client.query<{ held: boolean }>('select pg_try_advisory_lock($1) as held', [LOCK])
    if (rows[0]!.held) return true
    if (remainingMs <= 0) return false
    await sleep(AGAIN_MS)
  }
}
