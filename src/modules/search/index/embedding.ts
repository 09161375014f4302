import { sql } from 'kysely'
import type { Context, Engine } from '#infra/context.ts'
import { keptValue, replaceValue } from '#infra/processes/instance.ts'
import { payerOf } from '#infra/ledger/payer.ts'
import { Refusal } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import type { Payer } from '#infra/ledger/ledger.ts'
import type { HasEndpoints } from '#modules/ai-gateway/service.ts'
import type { Principal } from '#core/principal.ts'
import { passagesOf } from './passages.ts'
import { packed, signs } from './vectors.ts'

export interface SearchHandles extends HasEndpoints {
  embed(
    principal: Principal,
    model: string,
    texts: readonly string[],
    options: { signal: AbortSignal; payer: Payer; surface: string },
  ): Promise<{ vectors: readonly Float32Array[] }>
}

/**
 * Returns the index's model: `UK_EMBEDDING_MODEL`, or the first free one of a local engine.
 * Uses only the instance's providers, so that results don't depend on users' keys. Null: keyword search only.
 */
export async function embeddingModel(engine: Engine<HasEndpoints>, principal: Principal): Promise<string | null> {
  const configured = engine.config.embeddingModel
  if (configured === 'off') return null
  if (configured !== '') {
    const offers = await Promise.resolve(engine.endpoints.offers(principal, configured)).catch((error: unknown) => {
      if (error instanceof Refusal) return []
      throw error
    })
    return offers.some(({ endpoint }) => endpoint.billing !== 'byok') ? configured : null
  }
  const rows = await engine.endpoints.models(principal)
  return rows.find(({ kind, endpoint }) => kind === 'embedding' && endpoint.billing === 'free')?.slug ?? null
}

/** Indexing uses no API key, so model allowlists apply but key rules don't. */
const indexing = (payer: Payer): Payer =>
  payer.rules ? { ...payer, rules: payer.rules.filter(({ kind }) => kind !== 'keys') } : payer

export async function embedQuestion(
  ctx: Context<SearchHandles>,
  question: string,
): Promise<{ model: string; vector: Float32Array } | string> {
  const { engine, principal } = ctx
  const model = await embeddingModel(engine, principal)
  if (model === null) return 'semantic: no embedding model is configured'
  try {
    const payer = indexing(payerOf(principal, ctx.workspace?.id ?? principal.personalWorkspaceId))
    const { vectors } = await engine.embed(principal, model, [question], {
      signal: ctx.signal,
      payer,
      surface: 'search',
    })
    return { model, vector: vectors[0]! }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    ctx.log.warn({ model, reason: error.message }, 'a search query was not embedded')
    return error.status === 402 ? `semantic: ${error.message}` : 'semantic: the embedding model isn’t responding'
  }
}

const ROWS = 64
const PASSAGES = 64

interface Waiting {
  row_id: bigint
  type: string
  title: string
  body: string
  /** Hash of the embedded text, to detect changes before the vectors arrive. */
  stamp: string
  workspace_id: Id
  account_id: Id | null
}

/**
 * Embeds rows without vectors of the current model, until none is left or no one can pay. The author pays, or a
 * workspace owner if the author has left.
 */
export function createEmbedder(engine: Engine<SearchHandles>): (signal: AbortSignal) => Promise<void> {
  // Once per process and model, so that two processes configured with different models don't undo each other's paid
  // work.
  const followed = new Set<string>()
  return (signal) => embedSome(engine, followed, signal)
}

async function embedSome(
  engine: Engine<SearchHandles>,
  followedModels: Set<string>,
  signal: AbortSignal,
): Promise<void> {
  const { rows: administrators } = await sql<{
    id: Id
  }>`select id from accounts where administrator order by id limit 1`.execute(engine.postgres.db)
  const administrator = administrators[0]?.id
  const adminCtx = administrator === undefined ? null : await actor(engine, administrator, signal)
  const model = adminCtx === null ? null : await embeddingModel(engine, adminCtx.principal)
  if (model === null) return
  await followModel(engine, followedModels, model, signal)
  for (let after = 0n; !signal.aborted;) {
    const { rows } =
      await sql<Waiting>`select s.row_id, s.type, s.title, b.body, md5(s.title || b.body) as stamp, s.workspace_id,
        coalesce(payer.account_id, ${administrator!}) as account_id
      from search_rows s join search_bodies b on b.row_id = s.row_id join resources r on r.id = s.resource_id
      left join lateral (select m.account_id from members m where m.workspace_id = s.workspace_id
        order by m.account_id is not distinct from r.created_by desc, m.role = 'owner' desc, m.id limit 1) payer on true
      where s.row_id > ${String(after)}::int8 and s.embedded is null and not s.hidden order by s.row_id limit ${ROWS}`.execute(
        engine.postgres.db,
      )
    if (rows.length === 0) return
    after = rows.at(-1)!.row_id
    const byAccount = Map.groupBy(rows, ({ account_id, workspace_id }) => `${account_id} ${workspace_id}`)
    for (const group of byAccount.values()) await embedRows(engine, model, group, signal)
  }
}

const MODEL = 'search.model'
/** Rows reset per statement: each update touches all word indexes. */
const FORGOTTEN = 1_000

/** Vectors of different models can't be compared, so those of another model are embedded again. */
async function followModel(engine: Engine, followed: Set<string>, model: string, signal: AbortSignal): Promise<void> {
  if (followed.has(model)) return
  if (await forgetOthers(engine, model, signal)) followed.add(model)
}

async function forgetOthers({ postgres: { db } }: Engine, model: string, signal: AbortSignal): Promise<boolean> {
  const previousModel = await keptValue(db, MODEL, '')
  if (previousModel === model) return true
  for (let after: string | null = '0'; after !== null && !signal.aborted;) {
    const { rows }: { rows: { last: string | null }[] } = await sql<{
      last: string | null
    }>`with others as materialized (
        select row_id from search_rows where row_id > ${after}::int8 and embedded <> ${model} order by row_id limit ${FORGOTTEN}
      ), gone as (update search_rows s set embedded = null from others o where s.row_id = o.row_id)
      select max(row_id)::text as last from others`.execute(db)
    after = rows[0]!.last
  }
  if (signal.aborted) return false
  await replaceValue(db, MODEL, previousModel, model)
  return true
}

const actor = (engine: Engine, accountId: Id, signal: AbortSignal): Promise<Context | null> =>
  engine.actAs({ accountId, scopes: ['*'], workspaceId: null, payingKeyId: null, signal })

async function embedRows(
  engine: Engine<SearchHandles>,
  model: string,
  rows: readonly Waiting[],
  signal: AbortSignal,
): Promise<void> {
  const { account_id, workspace_id } = rows[0]!
  const ctx = await actor(engine, account_id!, signal)
  if (ctx === null) return
  const passages = rows.flatMap((row) => passagesOf(row.title, row.body).map((text, chunk) => ({ row, text, chunk })))
  const vectors: Float32Array[] = []
  try {
    for (let at = 0; at < passages.length; at += PASSAGES) {
      const texts = passages.slice(at, at + PASSAGES).map(({ text }) => text)
      const answer = await engine.embed(ctx.principal, model, texts, {
        signal,
        payer: indexing(payerOf(ctx.principal, workspace_id)),
        surface: 'search',
      })
      vectors.push(...answer.vectors)
    }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    engine.log.debug({ model, reason: error.message }, 'documents wait for their vectors')
    return
  }
  await keep(
    engine,
    model,
    passages.map(({ row, chunk }, i) => ({ row, chunk, vector: vectors[i]! })),
  )
}

async function keep(
  { postgres }: Engine,
  model: string,
  all: { row: Waiting; chunk: number; vector: Float32Array }[],
): Promise<void> {
  await postgres.db.transaction().execute(async (db) => {
    const rows = [...new Map(all.map(({ row }) => [row.row_id, row])).values()]
    // Locked, so that changes to the resource also reach these rows. Skips documents whose text has changed.
    const lockedRows = await sql<{
      row_id: bigint
    }>`select s.row_id from search_rows s join search_bodies b on b.row_id = s.row_id
      join unnest(${rows.map(({ row_id }) => String(row_id))}::int8[], ${rows.map(({ stamp }) => stamp)}::text[]) x(row_id, stamp)
        on x.row_id = s.row_id and x.stamp = md5(s.title || b.body)
      order by s.row_id for update of s`.execute(db)
    const currentIds = new Set(lockedRows.rows.map(({ row_id }) => row_id))
    const currentPassages = all.filter(({ row }) => currentIds.has(row.row_id))
    const rowIds = [...new Set(currentPassages.map(({ row }) => String(row.row_id)))]
    await sql`delete from search_vectors where row_id = any(${rowIds}::int8[])`.execute(db)
    await sql`with given as (
        select * from unnest(${currentPassages.map(({ row }) => String(row.row_id))}::int8[], ${currentPassages.map(({ chunk }) => chunk)}::int[],
          ${currentPassages.map(({ vector }) => signs(vector))}::text[], ${currentPassages.map(({ vector }) => packed(vector).toString('base64'))}::text[]) x(row_id, chunk, bits, vector)
      ), compared as (
        insert into search_vectors (row_id, space, chunk, hidden, bits)
        select s.row_id, search_space(${model}, length(g.bits), s.type, s.workspace_id), g.chunk, s.hidden, g.bits::bit varying
        from given g join search_rows s on s.row_id = g.row_id returning row_id, chunk
      )
      insert into search_passages (row_id, chunk, vector)
      select c.row_id, c.chunk, decode(g.vector, 'base64') from compared c join given g using (row_id, chunk)`.execute(
      db,
    )
    await sql`update search_rows set embedded = ${model} where row_id = any(${rowIds}::int8[])`.execute(db)
  })
}
