import { sql } from 'kysely'
import { Refusal, refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import type { Nano } from '#core/money.ts'
import { periodKey } from '#core/time.ts'
import type { Billing } from '#core/usage.ts'
import type { Log } from '../log.ts'
import { type Db, type Postgres, connectPostgres } from '../postgres/client.ts'
import { createBatches } from '../batches.ts'
import { isReserved, drawsBalance, isGuarded, capsOf } from './caps.ts'
import { releaseItem, settleItem, sharedBy } from './settle/item.ts'
import { type Journal, createJournal, journalsIn, noJournal } from './settle/journal.ts'
import type { Ledger, MeteredCall, Payer } from './ledger.ts'
import { createSentCalls } from './sent-calls.ts'
import { type SettleQueue, createSettleQueue } from './settle/queue.ts'
import { recover, startReconciler } from './settle/reconcile.ts'
import { refundCall } from './refund.ts'
import { type Reserve, reserveAll } from './reserve.ts'
import './calls/tables.ts'
import { unpricedMessages } from './unpriced.ts'

/** Calls per reservation round trip: with more, the first would wait for the last. */
const RESERVE_BATCH = 500
/** A batch costs the database as much as twenty of its calls: under load it waits for more. */
const PACE = { company: 4, apartMs: 3 }

export interface LedgerParts {
  postgres: Postgres
  processId: Id
  log: Log
  /** Stores unsettled calls in case the process is killed. */
  journalDir?: string
}

/**
 * This process's ledger. Its lease row (`startProcess`) must exist first, otherwise other processes reconcile its
 * calls.
 */
export const createLedger = (parts: LedgerParts): Ledger => new ProcessLedger(parts)

class ProcessLedger implements Ledger {
  readonly isGuarded = isGuarded
  readonly isReserved = isReserved
  readonly refund = refundCall
  readonly #postgres: Postgres
  readonly #journal: Journal
  readonly #queue: SettleQueue
  readonly #sentCalls: ReturnType<typeof createSentCalls>
  readonly #reconciler: AsyncDisposable
  readonly #reserving: ReturnType<typeof connectPostgres>
  readonly #reserve: (item: Reserve) => Promise<Nano | Error>

  constructor({ postgres, processId, log, journalDir }: LedgerParts) {
    const { pool } = postgres
    this.#postgres = postgres
    this.#journal = journalDir === undefined ? noJournal : createJournal(journalDir, processId, log)
    const queue = createSettleQueue(pool, log, this.#journal)
    this.#queue = queue
    this.#sentCalls = createSentCalls(pool, log)
    this.#reconciler = startReconciler(postgres, log, async () => {
      if (journalDir === undefined) return
      await recover(postgres, journalsIn(journalDir, processId), (batch) => queue.settle(batch), log)
    })
    // Reservations have one dedicated connection: they never wait for other statements, and their plan stays cached.
    const reserving = connectPostgres({ ...postgres.connection, max: 1, idleTimeoutMillis: 0 }, (error) =>
      log.warn({ error }, 'the database connection for reservations was lost'),
    )
    this.#reserving = reserving
    this.#reserve = createBatches(
      RESERVE_BATCH,
      async (items: Reserve[]) => {
        try {
          return await reserveAll(reserving.pool, processId, items)
        } catch (error) {
          // The commit is uncertain; releasing a missing reservation is harmless.
          for (const { call } of items) queue.add(releaseItem(call.id))
          throw error
        }
      },
      PACE,
    )
  }

  async affordable(payer: Payer, billing: Billing): Promise<Nano | null> {
    if (!isGuarded(payer, billing)) return null
    return least(await this.#readRemaining(payer, billing))
  }

  async reserve(call: MeteredCall, worst: Nano | null, least: Nano | null = worst): Promise<Nano> {
    if (!isReserved(call.payer, call.billing)) return worst ?? 0n
    if (worst === null && isGuarded(call.payer, call.billing))
      return refuse('unpriced_model', { message: unpricedMessages.tokens(call), details: { model: call.model } })
    const queue = this.#queue
    if (queue.full())
      return refuse('unavailable', {
        message: 'Calls can’t be recorded right now. Try again later.',
        headers: { 'retry-after': '1' },
      })
    // A pending release of the same ID would cancel the new reservation.
    if (queue.has(call.id)) await queue.flush()
    const reservation = { call, worst: worst ?? 0n, least: least ?? 0n }
    const before = queue.written()
    let amount = await this.#reserve(reservation)
    // Finished calls may still have held money: their settlement is queued, or was written since the query.
    if (amount instanceof Refusal && (queue.any() || queue.written() !== before)) {
      await queue.flush()
      amount = await this.#reserve(reservation)
    }
    if (amount instanceof Error) throw amount
    return amount
  }

  markSent(call: MeteredCall, soFar: Nano = 0n, now?: () => Nano): void {
    if (isReserved(call.payer, call.billing)) this.#sentCalls.markSent(call.id, soFar, now)
    else this.#journal.recordStart(call, sharedBy(call))
  }

  async outlive(db: Db, callId: Id): Promise<void> {
    await sql`update reservations set outlives_process = true where call_id = ${callId}`.execute(db)
  }

  settle(call: MeteredCall, outcome: Parameters<Ledger['settle']>[1]): void {
    this.#sentCalls.forget(call.id)
    this.#queue.add(settleItem(call, outcome))
  }

  release(call: MeteredCall): void {
    if (!isReserved(call.payer, call.billing)) return this.#journal.recordDrop(call.id)
    this.#sentCalls.forget(call.id)
    this.#queue.add(releaseItem(call.id))
  }

  flush(): Promise<void> {
    return this.#queue.flush()
  }

  async readSpends(subjects: Parameters<Ledger['readSpends']>[0]): Promise<Map<Id, Nano>> {
    if (subjects.length === 0) return new Map()
    await this.#queue.flush()
    const now = new Date()
    const { rows } = await this.#postgres.pool.query<{ subject: Id; nano: Nano }>({
      name: 'spent',
      text: `select s.subject, s.nano from unnest($1::bpchar[], $2::text[]) x(s, p)
          join spends s on s.subject = x.s and s.period = x.p where s.nano > 0`,
      values: [subjects.map(({ id }) => id), subjects.map(({ period }) => periodKey(period, now))],
    })
    return new Map(rows.map(({ subject, nano }) => [subject, nano]))
  }

  async balance(accountId: Id): Promise<Nano> {
    const row = await this.#postgres.db
      .selectFrom('balances')
      .select('nano')
      .where('account_id', '=', accountId)
      .executeTakeFirst()
    return row?.nano ?? 0n
  }

  async grant(db: Db, accountId: Id, amount: Nano, note: string, by: Id | null): Promise<Nano> {
    await sql`insert into ledger (account_id, kind, nano, change, note, by_account)
        values (${accountId}, 'grant', ${amount}, ${amount}, ${note}, ${by})`.execute(db)
    const { rows } = await sql<{
      nano: Nano
    }>`insert into balances as b (account_id, nano) values (${accountId}, ${amount})
        on conflict (account_id) do update set nano = b.nano + excluded.nano returning nano`.execute(db)
    return rows[0]!.nano
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#reconciler[Symbol.asyncDispose]()
    await this.#sentCalls[Symbol.asyncDispose]()
    await this.#queue[Symbol.asyncDispose]()
    await this.#reserving[Symbol.asyncDispose]()
  }

  async #readRemaining(payer: Payer, billing: Billing): Promise<Nano[]> {
    const caps = capsOf(payer, new Date())
    const { rows } = await sql<{ balance: Nano; used: string[] }>`select
      coalesce((select nano from balances where account_id = ${payer.accountId}), 0) as balance,
      array(select coalesce(s.nano + s.held, 0) from unnest(${caps.map(({ subject }) => subject)}::bpchar[], ${caps.map(({ period }) => period)}::text[])
        with ordinality x(s, p, n) left join spends s on s.subject = x.s and s.period = x.p order by x.n) as used`.execute(
      this.#postgres.db,
    )
    const { balance, used } = rows[0]!
    return [...(drawsBalance(payer, billing) ? [balance] : []), ...caps.map(({ cap }, i) => cap - BigInt(used[i]!))]
  }
}

const least = (amounts: readonly Nano[]): Nano => {
  const lowest = amounts.reduce((a, b) => (b < a ? b : a))
  return lowest > 0n ? lowest : 0n
}
