import { sql } from 'kysely'
import type { Db } from '#infra/postgres/client.ts'

/** The average interval between two machines, and the upper limit for all. */
const APART_MS = 500
const LONGEST_MS = 900_000

/** A delay in milliseconds. `draw`: 0 to 1. */
export const updateDelayMs = (machines: number, draw: number): number =>
  machines <= 1 ? 0 : Math.floor(draw * Math.min(machines * APART_MS, LONGEST_MS))

/** Counts the last hour, because all machines reconnect at once after a server update. */
export async function drawUpdateDelayMs(db: Db): Promise<number> {
  const { rows } = await sql<{ n: number }>`select count(*)::int as n from computers
    where kind = 'paired' and last_seen_at > now() - interval '1 hour'`.execute(db)
  return updateDelayMs(rows[0]!.n, Math.random())
}
