import { setTimeout as wait } from 'node:timers/promises'
import { sql } from 'kysely'
import { Refusal, refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import type { Authority, Principal } from '#core/principal.ts'
import type { Bus } from '#infra/bus/bus.ts'
import type { Log } from '#infra/log.ts'
import type { Db, Postgres } from '#infra/postgres/client.ts'

const POLL_MS = 400
/** After this long without the database, a process may have missed a revocation. */
const STALE_MS = 5_000
/** A paused process catches up within a moment if the database is reachable. */
const CATCH_UP_MS = 1_000

/** Records in the transaction that these accounts' permissions change. Poke `rights` after the commit. */
export async function rightsChanged(db: Db, accountIds: readonly Id[]): Promise<void> {
  if (accountIds.length > 0)
    await sql`insert into rights_changes (account_id) select unnest(${accountIds}::text[])`.execute(db)
}

/**
 * Judges a caller by current permissions. Another process may have granted access a moment ago, so changes are read
 * before a refusal is final. Concurrent refusals share one read.
 */
export async function judgeNow<T>(
  authority: Pick<Authority, 'renew'>,
  principal: Principal,
  judge: (principal: Principal) => T | Promise<T>,
): Promise<T> {
  try {
    return await judge(principal)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const current = await authority.renew(principal)
    if (current === principal) throw error
    return judge(current)
  }
}

/** Longer than any process can go without reading changes and still be trusted. */
const KEEP_DAYS = 7

export async function retainRightsChanges(db: Db): Promise<void> {
  await sql`delete from rights_changes where at < now() - make_interval(days => ${KEEP_DAYS})`.execute(db)
}

/** Reports permission changes in every process within half a second. One instance per process. */
export interface RightsWatch extends AsyncDisposable {
  hear(onChange: (accountId: Id) => void): Disposable
  inTouch(): boolean
  /** Reads missed changes. Throws 503 if the database is unreachable. */
  catchUp(): Promise<void>
  poll(): Promise<void>
}

export async function watchRights(postgres: Postgres, bus: Bus, log: Log): Promise<RightsWatch> {
  const hearing = new Set<(accountId: Id) => void>()
  // All transactions below this have ended, so only those at or above it can be new.
  let from = (await postgres.pool.query<{ x: string }>('select pg_snapshot_xmin(pg_current_snapshot())::text as x'))
    .rows[0]!.x
  /** Changes of the last read, by transaction and account. They repeat while an older transaction is open. */
  let reported: ReadonlySet<string> = new Set()
  let heardAt = performance.now()
  /** The last catch-up failed: until the database answers, other callers don't wait. */
  let isLost = false
  let running: Promise<void> = Promise.resolve()
  let next: Promise<void> | null = null

  async function readChanges(): Promise<void> {
    const startedAt = performance.now()
    const { rows } = await postgres.pool.query<{ x: string; changes: string[] | null }>({
      name: 'rights_poll',
      text: `select pg_snapshot_xmin(pg_current_snapshot())::text as x,
        (select array_agg(distinct xid::text || ' ' || account_id) from rights_changes where xid >= $1::xid8) as changes`,
      values: [from],
    })
    const changes = new Set(rows[0]!.changes)
    const fresh = changes.difference(reported)
    // A change that couldn't be reported now is read again.
    for (const id of new Set([...fresh].map((change) => change.slice(change.indexOf(' ') + 1))))
      for (const onChange of hearing) onChange(id)
    from = rows[0]!.x
    reported = changes
    heardAt = startedAt
    isLost = false
  }
  /** Starts a read after this call: one already in flight may have missed recent commits. */
  function poll(): Promise<void> {
    next ??= running.then(() => {
      next = null
      running = readChanges().catch((error: unknown) => log.warn({ error }, 'cannot read changes to permissions'))
      return running
    })
    return next
  }

  const inTouch = (): boolean => performance.now() - heardAt < STALE_MS

  const timer = setInterval(() => void poll(), POLL_MS)
  const wake = bus.on('rights', () => void poll())
  return {
    hear(onChange) {
      hearing.add(onChange)
      return { [Symbol.dispose]: () => void hearing.delete(onChange) }
    },
    inTouch,
    async catchUp() {
      if (!isLost) await Promise.race([poll(), wait(CATCH_UP_MS, undefined, { ref: false })])
      isLost = !inTouch()
      if (isLost)
        refuse('unavailable', {
          message: 'The server lost its connection to the database. Try again later.',
          headers: { 'retry-after': '1' },
        })
    },
    poll,
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      wake[Symbol.dispose]()
      await running
    },
  }
}
