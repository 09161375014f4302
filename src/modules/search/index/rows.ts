import { setImmediate } from 'node:timers/promises'
import { type RawBuilder, sql } from 'kysely'
import type { Db } from '#infra/postgres/client.ts'
import type { SearchDocument } from '#infra/text/index/searchable.ts'
import type { Id } from '#core/ids.ts'
import { shorten } from '#core/text/shorten.ts'
import { indexed } from './words.ts'

/** Names hold words that are run together: `brewTea_v2.ts` is found by each. */
export const splitNames = (name: string): string =>
  `${name} ${name.replace(/([\p{Ll}\d])(\p{Lu})/gu, '$1 $2').replace(/[^\p{L}\p{N}]+/gu, ' ')}`

/**
 * Counts up when words are split or folded differently: rows of before are written anew (`search.renew`). A writer claims
 * its version tenfold, by which the database tells it from an older server that leaves the column as it is.
 */
export const WORDS_VERSION = 2
const CLAIM = sql.lit(WORDS_VERSION * 10)
const LONG = 20_000
/** The most UTF-16 units of bodies in one statement: encoding its parameters blocks the event loop. */
const MOST_UNITS = 200_000

interface Lexed {
  title: string
  names: string
  body: string
  accented: string
  lexemes: string
}

/** Splits the texts of one row into words, and lets other work run in between. */
async function lex(...texts: [title: string, names: string, body: string]): Promise<Lexed> {
  const steps = indexed(texts)
  let step = steps.next()
  for (; step.done !== true; step = steps.next()) await setImmediate()
  const { words, ...rest } = step.value
  const [title, names, body] = words as [string, string, string]
  return { title, names, body, ...rest }
}

/**
 * Writes these documents, and takes out those ids that none tells of. What somebody holds just now comes after the rest,
 * resource by resource: a caller that waits for it must not hold all the others meanwhile.
 */
export async function writeRows(db: Db, ids: readonly Id[], documents: readonly SearchDocument[]): Promise<void> {
  const there = new Set(documents.map(({ id }) => id))
  const gone = ids.filter((id) => !there.has(id))
  if (gone.length > 0) await sql`delete from search_rows where id = any(${gone}::ulid[])`.execute(db)
  if (documents.length === 0) return
  const left: SearchDocument[] = []
  for (const some of bySize(documents)) {
    const written = await writeHeld(db, some, sql`for share skip locked`)
    left.push(...some.filter(({ id }) => !written.has(id)))
  }
  for (const ofOne of Map.groupBy(left, ({ resource_id }) => resource_id).values())
    for (const some of bySize(ofOne)) await writeHeld(db, some, sql`for share`)
}

/** Groups documents, in order: the bodies of a group have at most `MOST_UNITS`, or it is a single document. */
export function* bySize(documents: readonly SearchDocument[]): Generator<SearchDocument[], void, undefined> {
  let group: SearchDocument[] = []
  let units = 0
  for (const one of documents) {
    if (group.length > 0 && units + one.body.length > MOST_UNITS) {
      yield group
      group = []
      units = 0
    }
    group.push(one)
    units += one.body.length
  }
  if (group.length > 0) yield group
}

/**
 * Access comes from the register within the statement that writes, under a lock that a change of it waits for: a row is
 * never more visible than its resource. Answers what was written.
 */
async function writeHeld(
  db: Db,
  documents: readonly SearchDocument[],
  lock: RawBuilder<unknown>,
): Promise<ReadonlySet<Id>> {
  const clean = (text: string): string => text.replaceAll('\0', '').toWellFormed()
  const rows = documents.map((one) => ({
    ...one,
    title: shorten(clean(one.title), 500),
    body: clean(one.body),
  }))
  const words: Lexed[] = []
  for (const { title, keywords, body } of rows) {
    words.push(await lex(title, shorten(clean(splitNames(`${title}\n${keywords}`)), 10_000), body))
    if (body.length > LONG) await setImmediate()
  }
  const column = <K extends keyof (typeof rows)[number]>(name: K) => rows.map((row) => row[name])
  const { rows: written } = await sql<{ id: Id }>`with given as (
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
        -- The same words keep their vectors. (Two looks, since a join is planned as a look through the bodies of all rows.)
        embedded = case when s.type = excluded.type and s.title = excluded.title
          and (select b.body from search_bodies b where b.row_id = s.row_id) = (select g.body from given g where g.id = s.id)
          then s.embedded end
      returning row_id, id
    ), kept as (
      insert into search_bodies as b (row_id, body) select w.row_id, g.body from written w join given g on g.id = w.id
      on conflict (row_id) do update set body = excluded.body
    )
    select id from written`.execute(db)
  return new Set(written.map(({ id }) => id))
}
