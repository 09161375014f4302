/**
 * The moment at which each of many machines goes over to a new version, so that they do not do it in the same second.
 */
import { sql } from 'kysely'
import type { Db } from '#infra/postgres/client.ts'

/** The time between two machines in use, on average, and the longest time over which all are spread. */
const APART_MS = 500
const LONGEST_MS = 900_000

/** The moment of one of so many machines, in milliseconds from now; one alone does not wait. `draw`: from 0 to 1. */
export const momentOf = (machines: number, draw: number): number =>
  machines <= 1 ? 0 : Math.floor(draw * Math.min(machines * APART_MS, LONGEST_MS))

/**
 * The moment for a machine among those that were heard of within the last hour: all come back at once when their server
 * was updated.
 */
export async function waitOf(db: Db): Promise<number> {
  const { rows } = await sql<{ n: number }>`select count(*)::int as n from computers
    where kind = 'paired' and last_seen_at > now() - interval '1 hour'`.execute(db)
  return momentOf(rows[0]!.n, Math.random())
}
