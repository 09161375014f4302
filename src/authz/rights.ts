import { setTimeout as wait } from 'node:timers/promises'
import { sql } from 'kysely'
import { Refusal, refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import type { Authority, Principal } from '#core/principal.ts'
import type { Bus } from '#infra/bus/bus.ts'
import type { Log } from '#infra/log.ts'
import type { Db, Postgres } from '#infra/postgres/client.ts'

const POLL_MS = 400
/** Cut off from the database for so long, a process no longer knows who was locked out meanwhile. */
const STALE_MS = 5_000
/** A process that stood still hears of what it missed in a moment, where its database is there. */
const CATCH_UP_MS = 1_000

/** Says in the transaction of a change that these accounts' rights are others now. Poke `rights` after the commit. */
export async function rightsChanged(db: Db, accountIds: readonly Id[]): Promise<void> {
  if (accountIds.length > 0)
    await sql`insert into rights_changes (account_id) select unnest(${accountIds}::text[])`.execute(db)
}

/**
 * Judges a caller by the rights that the database has now. What another process granted a moment ago may not be known here,
 * so the changes are read before a refusal stands. Callers who are refused at the same time share one read.
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

/** Longer than any process goes without a look at the database and is trusted afterwards. */
const KEEP_DAYS = 7

/** Removes changes that every process has long read. */
export async function retainRightsChanges(db: Db): Promise<void> {
  await sql`delete from rights_changes where at < now() - make_interval(days => ${KEEP_DAYS})`.execute(db)
}

/** Learns within half a second, in every process, whose rights changed. Each process has one for all that ask. */
export interface RightsWatch extends AsyncDisposable {
  /** Calls `onChange` for each change that is read from now on. */
  hear(onChange: (accountId: Id) => void): Disposable
  /** Changes up to now were heard of no longer than 5 s ago. */
  inTouch(): boolean
  /** Reads what was missed, and refuses with 503 where that is not to be had now. */
  catchUp(): Promise<void>
  /** Reads at once what changed. */
  poll(): Promise<void>
}

export async function watchRights(postgres: Postgres, bus: Bus, log: Log): Promise<RightsWatch> {
  const hearing = new Set<(accountId: Id) => void>()
  // Every transaction below this had ended when it was read, so what is at or above it is all that can be new.
  let from = (await postgres.pool.query<{ x: string }>('select pg_snapshot_xmin(pg_current_snapshot())::text as x'))
    .rows[0]!.x
  /** The last read's changes, by transaction and account: while one is still open elsewhere, they come again. */
  let reported: ReadonlySet<string> = new Set()
  let heardAt = performance.now()
  /** The last caller waited in vain: until the database is heard of, the others need not. */
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
    // A change that cannot be told now is read again.
    for (const id of new Set([...fresh].map((change) => change.slice(change.indexOf(' ') + 1))))
      for (const onChange of hearing) onChange(id)
    from = rows[0]!.x
    reported = changes
    heardAt = startedAt
    isLost = false
  }
  /** A read that began after this was called: one in flight may have missed what was committed meanwhile. */
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
