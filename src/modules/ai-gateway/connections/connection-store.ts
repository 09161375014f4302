import { type Generated, type Insertable, type Selectable, sql } from 'kysely'
import type { Db } from '#infra/postgres/client.ts'
import type { Id } from '#core/ids.ts'
import type { ConnectionState, Reason } from './connection-state.ts'
import { announceChanges } from './status-changes.ts'

declare module '#infra/postgres/tables.ts' {
  interface Database {
    provider_connections: ConnectionTable
  }
}

const NEVER = new Date(0)

interface ConnectionTable {
  id: Id
  status: ConnectionState['status']
  reason: Reason | null
  seen_in_call: boolean
  last_error: string | null
  last_error_kind: Reason | null
  last_error_at: Date | null
  last_success_at: Date | null
  latency_ms: number | null
  models_count: number | null
  failures: number
  next_test_at: Date | null
  observed_at: Date
  changed_at: Generated<Date>
}

const stateOf = (row: Selectable<ConnectionTable>): ConnectionState => ({
  status: row.status,
  reason: row.reason,
  seenInCall: row.seen_in_call,
  lastError: row.last_error,
  lastErrorKind: row.last_error_kind,
  lastErrorAt: row.last_error_at,
  lastSuccessAt: row.last_success_at,
  latencyMs: row.latency_ms,
  modelsCount: row.models_count,
  failures: row.failures,
  nextTestAt: row.next_test_at,
  observedAt: row.observed_at,
})

const rowOf = (id: Id, state: ConnectionState): Insertable<ConnectionTable> => ({
  id,
  status: state.status,
  reason: state.reason,
  seen_in_call: state.seenInCall,
  last_error: state.lastError,
  last_error_kind: state.lastErrorKind,
  last_error_at: state.lastErrorAt,
  last_success_at: state.lastSuccessAt,
  latency_ms: state.latencyMs,
  models_count: state.modelsCount,
  failures: state.failures,
  next_test_at: state.nextTestAt,
  observed_at: state.observedAt,
})

const newer = (columns: readonly string[], by: string) =>
  columns.map((column) => {
    const [incoming, here] = [sql.ref(`excluded.${column}`), sql.ref(`c.${column}`)]
    const [incomingTime, currentTime] = [sql.ref(`excluded.${by}`), sql.ref(`c.${by}`)]
    return sql`${sql.ref(column)} = case when ${currentTime} is null or ${incomingTime} >= ${currentTime} then ${incoming} else ${here} end`
  })
const ofWhoSawLast = newer(
  ['status', 'reason', 'seen_in_call', 'failures', 'next_test_at', 'observed_at'],
  'observed_at',
)
const ofLaterError = newer(['last_error', 'last_error_kind', 'last_error_at'], 'last_error_at')

export type StateEntry = [id: Id, state: ConnectionState]

export const connectionStore = {
  async states(db: Db, ids: readonly Id[]): Promise<StateEntry[]> {
    if (ids.length === 0) return []
    const rows = await db.selectFrom('provider_connections').selectAll().where('id', 'in', ids).execute()
    return rows.map((row) => [row.id, stateOf(row)])
  },

  /** The states written since `since`, and the time to pass as the next `since`. */
  async changedSince(db: Db, since: Date): Promise<{ states: StateEntry[]; at: Date }> {
    const { rows } = await sql<{ at: Date }>`select clock_timestamp() as at`.execute(db)
    const changedRows = await db
      .selectFrom('provider_connections')
      .selectAll()
      .where('changed_at', '>', since)
      .execute()
    return { states: changedRows.map((row) => [row.id, stateOf(row)]), at: rows[0]!.at }
  },

  /** `testAt`: when to test the connection if no process does so sooner. Null: only on request. */
  async begin(db: Db, id: Id, testAt: Date | null): Promise<void> {
    await db
      .insertInto('provider_connections')
      .values({ id, status: 'untested', seen_in_call: false, failures: 0, next_test_at: testAt, observed_at: NEVER })
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  },

  /** Claims connections due for a test, by postponing them for the longest duration of a test. */
  async takeDue(db: Db, own: readonly Id[], limit: number): Promise<Id[]> {
    const { rows } = await sql<{ id: Id }>`
      update provider_connections set next_test_at = now() + interval '60 seconds'
      where id in (
        select id from provider_connections c
        where next_test_at <= now() and (id = any(${own}) or exists (
          select from provider_endpoints e where e.connection = c.id and e.enabled))
        order by next_test_at limit ${limit} for update skip locked)
      returning id`.execute(db)
    return rows.map(({ id }) => id)
  },

  async rest(db: Db, id: Id): Promise<void> {
    await db.updateTable('provider_connections').set({ next_test_at: null }).where('id', '=', id).execute()
  },

  /** Deletes unused connections unchanged for 30 days. */
  async retain(db: Db): Promise<void> {
    await sql`
      delete from provider_connections c where changed_at < now() - interval '30 days'
        and not exists (select from provider_endpoints e where e.connection = c.id)`.execute(db)
  },

  /**
   * Writes states unless the database has later ones. Announces each changed status once across processes, and returns
   * whether there was one.
   */
  async write(db: Db, states: readonly StateEntry[]): Promise<boolean> {
    return db.transaction().execute(async (tx) => {
      const ids = states.map(([id]) => id)
      const { rows: before } = await sql<{ id: Id; status: ConnectionState['status']; worked: boolean }>`
        select id, status, last_success_at is not null as worked from provider_connections
        where id = any(${ids}::bpchar[]) order by id for update`.execute(tx)
      await connectionStore.upsert(tx, states)
      return announceChanges(tx, before)
    })
  },

  async upsert(db: Db, states: readonly StateEntry[]): Promise<void> {
    const rows = JSON.stringify(states.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([id, state]) => rowOf(id, state)))
    await sql`
      insert into provider_connections as c (id, status, reason, seen_in_call, last_error, last_error_kind,
        last_error_at, last_success_at, latency_ms, models_count, failures, next_test_at, observed_at)
      select * from json_to_recordset(${rows}::json) as seen (id char(26), status text, reason text,
        seen_in_call boolean, last_error text, last_error_kind text, last_error_at timestamptz,
        last_success_at timestamptz, latency_ms int, models_count int, failures int, next_test_at timestamptz,
        observed_at timestamptz)
      on conflict (id) do update set
        ${sql.join(ofWhoSawLast)},
        ${sql.join(ofLaterError)},
        last_success_at = greatest(c.last_success_at, excluded.last_success_at),
        latency_ms = coalesce(excluded.latency_ms, c.latency_ms),
        models_count = coalesce(excluded.models_count, c.models_count),
        changed_at = clock_timestamp()`.execute(db)
  },
}
