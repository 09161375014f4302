import { type RawBuilder, sql } from 'kysely'
import type { Db } from '#engine/postgres/client.ts'
import type { Id } from '#kernel/ids.ts'
import type { Words } from './words.ts'
import { cosine, signs } from './vectors.ts'
import { type Reach, type SearchType, resourceOfVector, visible } from './visible.ts'

/** So many of those that hold the words are ranked: the newest. */
const MOST_RANKED = 1_000
/** So many of the nearest by signs are compared exactly. */
const MOST_COMPARED = 1_000
export const MOST_FOUND = 500
const MOST_ALIKE = 50
/** Two letters of a word may have changed places. */
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

const tsquery = ({ head, last, prefix }: Words): RawBuilder<unknown> =>
  prefix === null
    ? sql`websearch_to_tsquery('english', ${`${head} ${last}`})`
    : sql`(websearch_to_tsquery('english', ${head}) && (websearch_to_tsquery('english', ${last}) || to_tsquery('simple', ${`${prefix}:*`})))`

export const queryStore = {
  /** The best by their words, best first. */
  async byWords(db: Db, reach: Reach, words: Words): Promise<bigint[]> {
    const { rows } = await sql<{ row_id: bigint }>`with held as materialized (
        select s.row_id, s.tsv from search_rows s where s.tsv @@ ${tsquery(words)} and ${visible(reach)}
        order by s.row_id desc limit ${MOST_RANKED})
      select row_id from held order by ts_rank_cd(tsv, ${tsquery(words)}, 1) desc, row_id desc limit ${MOST_FOUND}`.execute(
      db,
    )
    return rows.map(({ row_id }) => row_id)
  },

  /** Those whose title is written like this, typos and all. */
  async byTitle(db: Db, reach: Reach, question: string): Promise<bigint[]> {
    const { rows } = await db.transaction().execute(async (db) => {
      await sql`select set_config('pg_trgm.word_similarity_threshold', ${ALIKE}, true)`.execute(db)
      return await sql<{ row_id: bigint }>`select s.row_id from search_rows s
      where ${question} <% s.title and ${visible(reach)}
      order by word_similarity(${question}, s.title) desc, s.row_id desc limit ${MOST_ALIKE}`.execute(db)
    })
    return rows.map(({ row_id }) => row_id)
  },

  /** The best by their meaning: the nearest by signs (Hamming), put in order by the exact cosine of their nearest passage. */
  async byMeaning(db: Db, reach: Reach, model: string, vector: Float32Array): Promise<bigint[]> {
    const bits = signs(vector)
    const { rows } = await sql<{ row_id: bigint; vector: Buffer }>`with near as materialized (
        select s.row_id, s.chunk from search_vectors s
        where s.model = ${model} and length(s.bits) = ${bits.length} and ${visible(reach, resourceOfVector)}
        order by bit_count(s.bits # ${bits}::bit varying) limit ${MOST_COMPARED})
      select n.row_id, p.vector from near n join search_passages p using (row_id, chunk)`.execute(db)
    const best = new Map<bigint, number>()
    for (const row of rows) {
      const score = cosine(vector, row.vector)
      if (score > (best.get(row.row_id) ?? -Infinity)) best.set(row.row_id, score)
    }
    return [...best]
      .sort(([a, x], [b, y]) => y - x || Number(b - a))
      .slice(0, MOST_FOUND)
      .map(([id]) => id)
  },

  /** Rows as they are shown, if they are still to be seen. */
  async rows(db: Db, reach: Reach, ids: readonly bigint[]): Promise<Map<bigint, Row>> {
    const { rows } =
      await sql<Row>`select s.row_id, s.type, s.id, s.workspace_id, s.parent_id, s.title, b.body, s.created_at, s.updated_at
      from search_rows s join search_bodies b on b.row_id = s.row_id
      where s.row_id = any(${ids.map(String)}::int8[]) and ${visible(reach)}`.execute(db)
    return new Map(rows.map((row) => [row.row_id, row]))
  },

  /** The words of a question as the index holds them. */
  async stems(db: Db, question: string): Promise<string[]> {
    const { rows } = await sql<{
      stems: string[]
    }>`select tsvector_to_array(to_tsvector('english', ${question})) as stems`.execute(db)
    return rows[0]!.stems
  },
}
