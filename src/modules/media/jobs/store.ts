import { type Generated, type Selectable, sql } from 'kysely'
import type { MediaFacts } from '#packages/media-tools/facts.ts'
import type { MeteredCall, Outcome, Payer } from '#infra/ledger/ledger.ts'
import { type Db, nextTime } from '#infra/postgres/client.ts'
import type { MediaKind, VendorJob } from '#gateway/media/adapter.ts'
import type { MediaOffer } from '#gateway/model/offer.ts'
import { type ErrorBody, type Refusal, errorBody } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import type { Budget, Cap } from '#core/money.ts'
import type { Behalf } from '#core/principal.ts'
import type { MediaAsk, StoredInput } from '../ask.ts'

declare module '#infra/postgres/tables.ts' {
  interface Database {
    media_jobs: MediaJobTable
    media_job_inputs: MediaJobInputTable
  }
}

export interface Part {
  /** Images requested. 1 for other kinds. */
  n: number
  /** Null: not known to have started. */
  job: VendorJob | null
  losses: readonly string[]
}

/** Enough to settle a call after its endpoint was deleted. */
export type StoredOffer = Omit<MediaOffer, 'endpoint'> & {
  endpoint: Pick<MediaOffer['endpoint'], 'id' | 'slug' | 'billing'>
}

/** Includes response headers. */
export type StoredError = ErrorBody['error'] & { headers?: Readonly<Record<string, string>> }

export const toStoredError = (refusal: Refusal): StoredError => ({
  ...errorBody(refusal).error,
  ...(refusal.headers && { headers: refusal.headers }),
})

export type Settlement = Pick<Outcome, 'status' | 'usage' | 'cost' | 'costSource' | 'durationMs'>

/** `result` or `error` holds the response. */
interface MediaJobTable extends Behalf {
  id: Id
  workspace_id: Id
  operation_id: Id | null
  process_id: Id | null
  kind: MediaKind
  status: Generated<'waiting' | 'sent' | 'made' | 'over'>
  request: MediaAsk | string
  payer: Payer | string
  call: (Omit<MeteredCall, 'payer' | 'startedAt'> & { startedAt: string }) | string | null
  offer: StoredOffer | string | null
  reserved_nano: bigint | null
  parts: Generated<readonly Part[] | string>
  outcome: Settlement | string | null
  result: unknown
  error: StoredError | string | null
  created_at: Generated<Date>
  updated_at: Generated<Date>
}
interface MediaJobInputTable {
  job_id: Id
  field: string
  place: number
  sha256: string
  name: string
  facts: MediaFacts | string
}

type Row = Selectable<MediaJobTable>

export interface MediaJob extends Omit<Row, 'request' | 'payer' | 'call' | 'offer' | 'parts' | 'outcome' | 'error'> {
  request: MediaAsk
  payer: Payer
  call: MeteredCall | null
  offer: StoredOffer | null
  parts: readonly Part[]
  outcome: Settlement | null
  error: StoredError | null
}

const living = sql`select id from processes where expires_at > now()`

export const mediaJobs = {
  insert: async (
    db: Db,
    job: Behalf & {
      id: Id
      workspace_id: Id
      operation_id: Id | null
      process_id: Id | null
      kind: MediaKind
      request: MediaAsk
      payer: Payer
    },
    inputs: readonly StoredInput[],
  ): Promise<MediaJob> => {
    const row = await db
      .insertInto('media_jobs')
      .values({ ...job, request: JSON.stringify(job.request), payer: write(job.payer) })
      .returningAll()
      .executeTakeFirstOrThrow()
    if (inputs.length > 0)
      await db
        .insertInto('media_job_inputs')
        .values(inputs.map(({ facts, ...input }) => ({ ...input, job_id: job.id, facts: JSON.stringify(facts) })))
        .execute()
    return toJob(row)
  },

  get: async (db: Db, id: Id): Promise<MediaJob | null> => {
    const row = await db.selectFrom('media_jobs').selectAll().where('id', '=', id).executeTakeFirst()
    return row === undefined ? null : toJob(row)
  },

  inputs: async (db: Db, id: Id): Promise<StoredInput[]> =>
    (
      await db
        .selectFrom('media_job_inputs')
        .select(['field', 'place', 'sha256', 'name', 'facts'])
        .where('job_id', '=', id)
        .orderBy('field')
        .orderBy('place')
        .execute()
    ).map((row) => ({ ...row, facts: row.facts as MediaFacts })),

  /** Claims a job that no live process works on. Null: another process has it, or it was deleted. */
  claim: async (db: Db, id: Id, processId: Id): Promise<MediaJob | null> => {
    const row = await db
      .updateTable('media_jobs')
      .set({ process_id: processId, updated_at: nextTime })
      .where('id', '=', id)
      .where(sql<boolean>`(process_id is null or process_id not in (${living}))`)
      .returningAll()
      .executeTakeFirst()
    return row === undefined ? null : toJob(row)
  },

  /** Releases the job. `operationId`: the operation that now shows it. */
  leave: async (db: Db, id: Id, processId: Id, operationId: Id | null): Promise<void> => {
    await db
      .updateTable('media_jobs')
      .set({ process_id: null, ...(operationId !== null && { operation_id: operationId }), updated_at: nextTime })
      .where('id', '=', id)
      .where('process_id', '=', processId)
      .execute()
  },

  showBy: async (db: Db, id: Id, operationId: Id): Promise<boolean> => {
    const { numUpdatedRows } = await db
      .updateTable('media_jobs')
      .set({ operation_id: operationId, updated_at: nextTime })
      .where('id', '=', id)
      .where('operation_id', 'is', null)
      .executeTakeFirst()
    return numUpdatedRows === 1n
  },

  /** Sets a waiting job to sent before anything is sent. False: it has ended, or another process has it. */
  send: async (
    db: Db,
    id: Id,
    processId: Id,
    {
      call,
      offer,
      reserved,
      parts,
    }: { call: MeteredCall; offer: StoredOffer; reserved: bigint | null; parts: readonly Part[] },
  ): Promise<boolean> => {
    const { payer: _, ...words } = call
    const { numUpdatedRows } = await db
      .updateTable('media_jobs')
      .set({
        status: 'sent',
        call: JSON.stringify(words),
        offer: JSON.stringify(offer),
        reserved_nano: reserved,
        parts: JSON.stringify(parts),
        updated_at: nextTime,
      })
      .where('id', '=', id)
      .where('status', '=', 'waiting')
      .where('process_id', '=', processId)
      .executeTakeFirst()
    return numUpdatedRows === 1n
  },

  /** A canceled job must not be sent. */
  isCancelled: async (db: Db, operationId: Id): Promise<boolean> => {
    const { rows } = await sql<{ cancelled: boolean }>`
      select cancel_requested_at is not null or status <> 'running' as cancelled from operations where id = ${operationId}`.execute(
      db,
    )
    return rows[0]?.cancelled ?? true
  },

  unsend: async (db: Db, id: Id): Promise<void> => {
    await db
      .updateTable('media_jobs')
      .set({ status: 'waiting', call: null, offer: null, reserved_nano: null, parts: '[]', updated_at: nextTime })
      .where('id', '=', id)
      .where('status', '=', 'sent')
      .execute()
  },

  begun: async (db: Db, id: Id, place: number, part: Part): Promise<void> => {
    await db
      .updateTable('media_jobs')
      .set({
        parts: sql<string>`jsonb_set(parts, ${`{${place}}`}::text[], ${JSON.stringify(part)}::jsonb)`,
        updated_at: nextTime,
      })
      .where('id', '=', id)
      .execute()
  },

  /** Writes the result in the transaction that saves its files. False: another process was first. */
  end: async (
    db: Db,
    id: Id,
    processId: Id,
    { outcome, result, error }: { outcome: Settlement | null; result: unknown; error: StoredError | null },
  ): Promise<boolean> => {
    const { numUpdatedRows } = await db
      .updateTable('media_jobs')
      .set({
        status: outcome === null ? 'over' : 'made',
        outcome: outcome === null ? null : write(outcome),
        result: result === null ? null : JSON.stringify(result),
        error: error === null ? null : JSON.stringify(error),
        updated_at: nextTime,
      })
      .where('id', '=', id)
      .where('status', 'in', ['waiting', 'sent'])
      .where('process_id', '=', processId)
      .executeTakeFirst()
    return numUpdatedRows === 1n
  },

  /** Also deletes the inputs. */
  close: async (db: Db, id: Id): Promise<void> => {
    await mediaJobs.forgetInputs(db, id)
    await db
      .updateTable('media_jobs')
      .set({ status: 'over', updated_at: nextTime })
      .where('id', '=', id)
      .where('status', '=', 'made')
      .execute()
  },

  forgetInputs: async (db: Db, id: Id): Promise<void> => {
    await db.deleteFrom('media_job_inputs').where('job_id', '=', id).execute()
  },

  drop: async (db: Db, id: Id): Promise<void> => {
    await db.deleteFrom('media_jobs').where('id', '=', id).where('status', 'in', ['waiting', 'over']).execute()
  },

  /** Unfinished jobs without a live process and without a pending operation. */
  orphans: async (db: Db): Promise<{ id: Id; status: Row['status']; operation_id: Id | null }[]> =>
    await db
      .selectFrom('media_jobs as j')
      .select(['j.id', 'j.status', 'j.operation_id'])
      .where('j.status', '<>', 'over')
      .where(sql<boolean>`(j.process_id is null or j.process_id not in (${living}))`)
      .where(sql<boolean>`j.updated_at < now() - interval '2 seconds'`)
      .where(
        sql<boolean>`not exists (select from operations o where o.id = j.operation_id and o.status in ('queued', 'running'))`,
      )
      .orderBy('j.id')
      .limit(100)
      .execute(),

  retain: async (db: Db): Promise<void> => {
    await db
      .deleteFrom('media_jobs')
      .where('status', '=', 'over')
      .where('updated_at', '<', sql<Date>`now() - interval '30 days'`)
      .execute()
  },
}

/** Money becomes a decimal string, because JSON numbers aren't exact. */
const write = (value: unknown): string =>
  JSON.stringify(value, (_, one: unknown) => (typeof one === 'bigint' ? String(one) : one))

function toJob({ request, payer, call, offer, parts, outcome, error, ...row }: Row): MediaJob {
  // The column type describes writes.
  const paying = payerOf(payer as unknown as WrittenPayer)
  const storedCall = call as (Omit<MeteredCall, 'payer' | 'startedAt'> & { startedAt: string }) | null
  const settlement = outcome as (Omit<Settlement, 'cost'> & { cost: string | null }) | null
  return {
    ...row,
    request: request as MediaAsk,
    payer: paying,
    call: storedCall && { ...storedCall, payer: paying, startedAt: new Date(storedCall.startedAt) },
    offer: offer as StoredOffer | null,
    parts: parts as readonly Part[],
    outcome: settlement && { ...settlement, cost: settlement.cost === null ? null : BigInt(settlement.cost) },
    error: error as StoredError | null,
  }
}

/** As stored: amounts are decimal strings. */
type WrittenPayer = Omit<Payer, 'key' | 'budgets'> & {
  key: { id: Id; cap: { nano: string; period: Cap['period'] } | null } | null
  budgets?: readonly (Omit<Budget, 'nano'> & { nano: string | null })[]
}

function payerOf({ key, budgets, ...payer }: WrittenPayer): Payer {
  return {
    ...payer,
    key: key && { ...key, cap: key.cap && { ...key.cap, nano: BigInt(key.cap.nano) } },
    ...(budgets && {
      budgets: budgets.map((budget) => ({ ...budget, nano: budget.nano === null ? null : BigInt(budget.nano) })),
    }),
  }
}
