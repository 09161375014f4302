import { type RawBuilder, sql } from 'kysely'
import type { Db } from '#infra/postgres/client.ts'
import type { Id } from '#core/ids.ts'
import type { Term, Words } from './words.ts'
import { accentedOnly, literalOf } from '../index/words.ts'
import { cosines, signs } from '../index/vectors.ts'
import { type Reach, type SearchType, inSpaces, visible } from './visible.ts'

const MAX_RANKED = 1_000
const RANKED = sql.lit(MAX_RANKED)
/** How many of the nearest by sign bits are compared exactly. Half as many lose some of the best twenty. */
const MAX_COMPARED = 600
export const MAX_FOUND = 500
const MAX_ALIKE = 50
/** Similarity threshold: tolerates two swapped letters. */
const ALIKE = '0.45'

export interface Row {
  row_id: bigint
  type: SearchType
  id: Id
  workspace_id: Id
  parent_id: Id | null
  title: string
  body: string
  created_at: Date
  updated_at: Date
}

type Query = RawBuilder<unknown>

const phrase = (words: readonly string[]): Query => sql`phraseto_tsquery('english', ${words.join(' ')})`
const lexemes = (all: readonly string[]): Query => sql`${all.map(literalOf).join(' & ')}::tsquery`
const AND = sql` && `
const OR = sql` || `
const joinQueries = (all: readonly Query[], by: Query): Query =>
  all.length === 0 ? sql`''::tsquery` : sql`(${sql.join(all, by)})`

/**
 * Matches a term's consecutive words or its exact signs; the last term also as a prefix, because it may be incomplete.
 */
function termQuery({ words, joins, idle }: Term, prefix: string | null): Query {
  const ways = [phrase(words)]
  if (words.length > 1 && joins.length > 0 && !idle) ways.push(lexemes(joins))
  if (prefix !== null && words.length === 1) ways.push(sql`${`${literalOf(prefix)}:*`}::tsquery`)
  else if (prefix !== null && joins.length > 0) ways.push(sql`${`${joins.map(literalOf).join(' & ')}:*`}::tsquery`)
  return joinQueries(ways, OR)
}

function tsquery({ any, prefix }: Words): Query {
  const groups = any.map(({ all, none }, i) => {
    const termQueries = all.map((term, at) =>
      termQuery(term, i === any.length - 1 && at === all.length - 1 ? prefix : null),
    )
    return joinQueries([...termQueries, ...none.map((term) => sql`!!${termQuery(term, null)}`)], AND)
  })
  // Stop words (`the`, `to-do`) count only if the query has nothing else.
  const rest = any.flatMap(({ all }) => all.flatMap(({ words }) => words))
  return sql`(select case when numnode(x.query) > 0 then x.query else x.rest end
    from (select ${joinQueries(groups, OR)} as query, ${lexemes(rest)} as rest) x)`
}

/** One query per term: whether a row has its exact spelling, with signs and accents. */
const exactly = ({ any }: Words): Query =>
  sql`array[${sql.join(
    any.flatMap(({ all }) =>
      all.map(({ words, written, joins }) => {
        const accented = written.filter((word, i) => word !== words[i])
        const plain = words.filter((word, i) => word === written[i])
        return joinQueries(
          [
            ...(accented.length > 0 ? [sql`plainto_tsquery('english', ${accented.join(' ')})`] : []),
            sql`${[...joins.map(literalOf), ...plain.map((word) => `!${literalOf(accentedOnly(word))}`)].join(' & ')}::tsquery`,
          ],
          AND,
        )
      }),
    ),
    sql`, `,
  )}]::tsquery[]`

/**
 * Searches rows in blocks of 4,096, newest first. The first blocks show how frequent matches are, and so how many more
 * are needed; if that is many, searches all the rest at once.
 * Each pass reads the index's whole list for a prefix, so two passes beat three.
 */
const FIRST_BLOCKS = 4
const FIRST = sql.lit(FIRST_BLOCKS)
const BLOCKS = sql.lit(64)
const AMPLE = 1.25
/** With more workspaces, checking each row is faster. */
const MAX_WORKSPACES = 64

/** The part of `visible` that the word index can check. */
function inWorkspaces(reach: Reach): RawBuilder<unknown> {
  const workspaces = [...new Set(reach.flatMap((one) => one.workspaces))]
  const all = reach.every(({ shared, sharedFolders }) => shared.length + sharedFolders.length === 0)
  return all && workspaces.length <= MAX_WORKSPACES
    ? sql`array[s.workspace_id::text] && ${workspaces}::text[]`
    : sql`true`
}

export const queryStore = {
  /**
   * Returns keyword matches, best first. Finds the newest rows of a frequent word without reading all.
   * The query is hidden from the planner, which would scan every row for frequent words.
   */
  async byWords(db: Db, reach: Reach, words: Words): Promise<bigint[]> {
    const candidates = (where: RawBuilder<unknown>) => sql`select s.row_id, s.tsv from search_rows s
      where s.tsv @@ (select query from asked) and ${inWorkspaces(reach)} and ${where} and ${visible(reach)}
      order by s.row_id + 0 desc limit ${RANKED}`
    const inBlocks = candidates(sql`array[(s.row_id >> 12)::int4] && blocks`)
    const { rows } = await sql<{
      row_id: bigint
    }>`with asked as materialized (select ${tsquery(words)} as query, ${exactly(words)} as exactly),
      top as materialized (select coalesce(max(row_id), 0) >> 12 as block from search_rows),
      newest as materialized (
        select x.* from (select array(select generate_series(greatest(block - ${FIRST} + 1, 0), block)::int4) as blocks from top) w
        cross join lateral (${inBlocks}) x),
      expected as materialized (
        select block, ceil(${sql.lit(FIRST_BLOCKS * MAX_RANKED * AMPLE)} / greatest(found, 1)) as upto
        from top, (select count(*) as found from newest) f where found < ${RANKED} and block >= ${FIRST}),
      next as materialized (
        select x.* from (select array(select generate_series(greatest(block - upto + 1, 0)::int8, block - ${FIRST})::int4) as blocks
          from expected where upto <= ${BLOCKS}) w
        cross join lateral (${inBlocks}) x),
      rest as materialized (
        select last from expected, lateral (select block - case when upto <= ${BLOCKS} then upto else ${FIRST} end as last) x
        where last >= 0 and (select count(*) from newest) + (select count(*) from next) < ${RANKED}),
      held as materialized (
        select * from newest union all select * from next
        union all select y.* from rest cross join lateral (${candidates(sql`s.row_id >> 12 <= rest.last`)}) y
        limit ${RANKED})
      select row_id from held order by (select count(*) from unnest((select exactly from asked)) x(query) where tsv @@ x.query) desc,
        ts_rank_cd(tsv, (select query from asked), 1) desc, row_id desc limit ${MAX_FOUND}`.execute(db)
    return rows.map(({ row_id }) => row_id)
  },

  async byTitle(db: Db, reach: Reach, question: string): Promise<bigint[]> {
    const { rows } = await db.transaction().execute(async (db) => {
      await sql`select set_config('pg_trgm.word_similarity_threshold', ${ALIKE}, true)`.execute(db)
      return await sql<{ row_id: bigint }>`select s.row_id from search_rows s
      where ${question} <% s.title and ${visible(reach)}
      order by word_similarity(${question}, s.title) desc, s.row_id desc limit ${MAX_ALIKE}`.execute(db)
    })
    return rows.map(({ row_id }) => row_id)
  },

  /** Takes the nearest by sign bits (Hamming distance), then ranks by exact cosine of the best passage. */
  async byMeaning(db: Db, reach: Reach, model: string, vector: Float32Array): Promise<bigint[]> {
    const bits = signs(vector)
    // One value for all vectors: reading a row for each took longer than comparing them.
    const { rows } = await sql<{
      ids: string[] | null
      vectors: string
    }>`with near as materialized (
        select s.row_id, s.chunk from search_vectors s
        where not s.hidden and ${inSpaces(reach, model, vector.length)}
        order by bit_count(s.bits # ${bits}::bit varying) limit ${MAX_COMPARED})
      select array_agg(n.row_id::text) as ids, encode(string_agg(p.vector, ''), 'base64') as vectors
      from near n join search_passages p using (row_id, chunk) where length(p.vector) = ${vector.length * 4}`.execute(
      db,
    )
    const { ids, vectors } = rows[0]!
    if (ids === null) return []
    const scores = cosines(vector, Buffer.from(vectors, 'base64'))
    const best = new Map<bigint, number>()
    for (const [i, text] of ids.entries()) {
      const id = BigInt(text)
      best.set(id, Math.max(scores[i]!, best.get(id) ?? -Infinity))
    }
    return [...best]
      .sort(([a, x], [b, y]) => y - x || Number(b - a))
      .slice(0, MAX_FOUND)
      .map(([id]) => id)
  },

  async rows(db: Db, reach: Reach, ids: readonly bigint[]): Promise<Map<bigint, Row>> {
    const { rows } =
      await sql<Row>`select s.row_id, s.type, s.id, s.workspace_id, s.parent_id, s.title, b.body, s.created_at, s.updated_at
      from search_rows s join search_bodies b on b.row_id = s.row_id
      where s.row_id = any(${ids.map(String)}::int8[]) and ${visible(reach)}`.execute(db)
    return new Map(rows.map((row) => [row.row_id, row]))
  },

  async stems(db: Db, { text }: Words): Promise<string[]> {
    const { rows } = await sql<{
      stems: string[]
    }>`select tsvector_to_array(to_tsvector('english', ${text})) as stems`.execute(db)
    return rows[0]!.stems.length > 0 ? rows[0]!.stems : text.split(' ').filter((word) => word !== '')
  },
}
