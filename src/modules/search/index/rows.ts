import { setImmediate } from 'node:timers/promises'
import { type RawBuilder, sql } from 'kysely'
import type { Db } from '#infra/postgres/client.ts'
import type { SearchDocument } from '#infra/text/index/searchable.ts'
import type { Id } from '#core/ids.ts'
import { shorten } from '#core/text/shorten.ts'
import { indexed } from './words.ts'

/** Splits compound names, so that `brewTea_v2.ts` matches each part. */
export const splitNames = (name: string): string =>
  `${name} ${name.replace(/([\p{Ll}\d])(\p{Lu})/gu, '$1 $2').replace(/[^\p{L}\p{N}]+/gu, ' ')}`

/**
 * Increment when words are split or folded differently: older rows are then rewritten (`search.renew`).
 * Writers store it times ten, which tells the database they aren't an older server that leaves the column unchanged.
 */
export const WORDS_VERSION = 2
const CLAIM = sql.lit(WORDS_VERSION * 10)
const LONG = 20_000
/** Maximum UTF-16 units of bodies per statement: encoding parameters blocks the event loop. */
const MAX_UNITS = 200_000

interface LexedTexts {
  title: string
  names: string
  body: string
  accented: string
  lexemes: string
}

async function lex(...texts: [title: string, names: string, body: string]): Promise<LexedTexts> {
  const steps = indexed(texts)
  let step = steps.next()
  for (; step.done !== true; step = steps.next()) await setImmediate()
  const { words, ...rest } = step.value
  const [title, names, body] = words as [string, string, string]
  return { title, names, body, ...rest }
}

/**
 * Writes documents and deletes IDs without one. Locked resources are written last, one by one, so that waiting for one
 * doesn't delay the others.
 */
export async function writeRows(db: Db, ids: readonly Id[], documents: readonly SearchDocument[]): Promise<void> {
  const presentIds = new Set(documents.map(({ id }) => id))
  const deletedIds = ids.filter((id) => !presentIds.has(id))
  if (deletedIds.length > 0) await sql`delete from search_rows where id = any(${deletedIds}::ulid[])`.execute(db)
  if (documents.length === 0) return
  const skipped: SearchDocument[] = []
  for (const batch of bySize(documents)) {
    const writtenIds = await writeHeld(db, batch, sql`for share skip locked`)
    skipped.push(...batch.filter(({ id }) => !writtenIds.has(id)))
  }
  for (const ofOne of Map.groupBy(skipped, ({ resource_id }) => resource_id).values())
    for (const batch of bySize(ofOne)) await writeHeld(db, batch, sql`for share`)
}

/** Groups documents in order, up to `MAX_UNITS` per group. A larger document is a group alone. */
export function* bySize(documents: readonly SearchDocument[]): Generator<SearchDocument[], void, undefined> {
  let group: SearchDocument[] = []
  let units = 0
  for (const document of documents) {
    if (group.length > 0 && units + document.body.length > MAX_UNITS) {
      yield group
      group = []
      units = 0
    }
    group.push(document)
    units += document.body.length
  }
  if (group.length > 0) yield group
}

/**
 * Reads access in the same statement, under a lock that access changes wait for, so that a row is never more visible
 * than its resource. Returns the written IDs.
 */
async function writeHeld(
  db: Db,
  documents: readonly SearchDocument[],
  lock: RawBuilder<unknown>,
): Promise<ReadonlySet<Id>> {
  const clean = (text: string): string => text.replaceAll('\0', '').toWellFormed()
  const rows = documents.map((document) => ({
    ...document,
    title: shorten(clean(document.title), 500),
    body: clean(document.body),
  }))
  const words: LexedTexts[] = []
  for (const { title, keywords, body } of rows) {
    words.push(await lex(title, shorten(clean(splitNames(`${title}\n${keywords}`)), 10_000), body))
    if (body.length > LONG) await setImmediate()
  }
  const column = <K extends keyof (typeof rows)[number]>(name: K) => rows.map((row) => row[name])
  const { rows: writtenRows } = await sql<{ id: Id }>`with given as (
      select * from unnest(${column('type')}::text[], ${column('id')}::ulid[], ${column('resource_id')}::ulid[], ${column('parent_id')}::ulid[],
        ${column('title')}::text[], ${column('body')}::text[], ${words.map((one) => one.title)}::text[], ${words.map((one) => one.names)}::text[],
        ${words.map((one) => one.body)}::text[], ${words.map((one) => one.accented)}::text[], ${words.map((one) => one.lexemes)}::text[],
        ${column('created_at')}::timestamptz[], ${column('updated_at')}::timestamptz[])
        as x(type, id, resource_id, parent_id, title, body, heading, names, words, accented, lexemes, created_at, updated_at)
    ), held as (
      select r.id, r.workspace_id, r.status = 'trashed' as hidden from resources r
      where r.id = any(${[...new Set(column('resource_id'))].sort()}::ulid[]) order by r.id ${lock}
    ), written as (
      insert into search_rows as s (type, id, resource_id, workspace_id, hidden, title, tsv, words_version, parent_id, created_at, updated_at)
      select g.type, g.id, g.resource_id, h.workspace_id, h.hidden, g.title,
        setweight(to_tsvector('english', g.heading), 'A') || setweight(to_tsvector('english', g.names), 'B') || to_tsvector('english', g.words)
          || strip(to_tsvector('english', g.accented)) || g.lexemes::tsvector,
        ${CLAIM}, g.parent_id, g.created_at, g.updated_at
      from given g join held h on h.id = g.resource_id
      on conflict (id) do update set type = excluded.type, workspace_id = excluded.workspace_id, hidden = excluded.hidden,
        resource_id = excluded.resource_id, title = excluded.title, tsv = excluded.tsv, words_version = ${CLAIM},
        parent_id = excluded.parent_id, updated_at = excluded.updated_at,
        -- Unchanged text keeps its vectors. (Two lookups, because a join would scan every body.)
        embedded = case when s.type = excluded.type and s.title = excluded.title
          and (select b.body from search_bodies b where b.row_id = s.row_id) = (select g.body from given g where g.id = s.id)
          then s.embedded end
      returning row_id, id
    ), kept as (
      insert into search_bodies as b (row_id, body) select w.row_id, g.body from written w join given g on g.id = w.id
      on conflict (row_id) do update set body = excluded.body
    )
    select id from written`.execute(db)
  return new Set(writtenRows.map(({ id }) => id))
}
