import { sql } from 'kysely'
import type { Id } from '#core/ids.ts'
import type { Nano } from '#core/money.ts'
import { writeOutbox } from '../../outbox/outbox.ts'
import type { Log } from '../../log.ts'
import { isAlive, placeOfPids } from '../../processes/processes.ts'
import type { LeftJournal } from './journal.ts'
import type { SettleBatch } from './settle-batch.ts'
import { ledgerFunctions } from '../../postgres/functions.ts'
import type { Postgres } from '../../postgres/client.ts'

const EVERY_MS = 60_000
const BATCH = 500

interface EndedCall {
  call_id: Id
  account_id: Id
  workspace_id: Id
  chat_id: Id | null
  run_id: Id | null
  message_id: Id | null
  model: string
  provider: string
  /** The settled cost. Null: never sent, released. */
  cost: Nano | null
}

/** The payload of `call.interrupted`: the caller can't receive the cost directly. */
export type InterruptedCall = Omit<EndedCall, 'cost'> & {
  /** Decimal nano-dollars, because JSON numbers aren't exact. */
  cost_nano: string
}

/**
 * Ends reservations of dead processes, at startup and every minute. Any process may do it: row locks distribute the
 * work, and each ends once. The cost of a run's call is reported as `call.interrupted`.
 */
export async function reconcile({ db }: Pick<Postgres, 'db'>, log: Log): Promise<number> {
  let all = 0
  for (;;) {
    const endedCount = await db.transaction().execute(async (tx) => {
      const { rows } =
        await sql<EndedCall>`select * from ${sql.ref(`${ledgerFunctions.schema}.reconcile_calls`)}(${BATCH})`.execute(
          tx,
        )
      for (const { cost, ...call } of rows)
        if (cost !== null && call.run_id !== null)
          await writeOutbox(
            tx,
            {
              type: 'call.interrupted',
              channels: [],
              resource: { type: 'run', id: call.run_id },
              data: { ...call, cost_nano: String(cost) } satisfies InterruptedCall,
            },
            null,
          )
      return rows.length
    })
    all += endedCount
    if (endedCount < BATCH) break
  }
  if (all > 0) log.warn({ calls: all }, 'reservations of stopped processes were reconciled')
  return all
}

export async function recover(
  { pool }: Postgres,
  journals: readonly LeftJournal[],
  settle: (batch: SettleBatch) => Promise<void>,
  log: Log,
): Promise<void> {
  if (journals.length === 0) return
  const { rows } = await pool.query<{ id: Id; pid: number; place: string; leased: boolean }>(
    'select id, pid, place, expires_at > now() as leased from processes where id = any($1::ulid[])',
    [journals.map(({ processId }) => processId)],
  )
  const here = placeOfPids()
  // A process without the database for a while may have lost its lease but is still writing.
  const lives = ({ pid, place, leased }: (typeof rows)[number]): boolean =>
    leased || (here !== null && place === here && isAlive(pid))
  const living = new Set(rows.filter(lives).map(({ id }) => id))
  for (const { processId, batches, remove } of journals) {
    if (living.has(processId)) continue
    try {
      let calls = 0
      for (const batch of batches()) {
        await settle(batch)
        calls += batch.count
      }
      remove()
      if (calls > 0) log.warn({ calls }, 'unsettled calls of a stopped process were read from its journal file')
    } catch (error) {
      log.error({ error, process: processId }, 'a journal file of unsettled calls cannot be read')
    }
  }
}

/** `before` runs first each time, because it has better data. */
export function startReconciler(
  postgres: Pick<Postgres, 'db'>,
  log: Log,
  before: () => Promise<void>,
): AsyncDisposable & { first: Promise<void> } {
  const run = async (): Promise<void> => {
    await before().catch((error: unknown) => log.error({ error }, 'journal files of unsettled calls cannot be read'))
    await reconcile(postgres, log).catch((error: unknown) => log.error({ error }, 'reservations cannot be reconciled'))
  }
  const first = run()
  let running = first
  const timer = setInterval(() => {
    running = running.then(run)
  }, EVERY_MS)
  return {
    first,
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      await running
    },
  }
}
