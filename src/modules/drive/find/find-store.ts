import { type RawBuilder, sql } from 'kysely'
import type { GramQuery } from '#packages/linear-grep/regex/grams.ts'
import type { Db } from '#infra/postgres/client.ts'
import type { Id } from '#core/ids.ts'
import type { Within } from './within.ts'

export interface Position {
  path: string
  id: Id
}

export interface Range extends Within {
  kind: 'file' | 'folder' | null
  below: string
  /** A `like` pattern that every matching path satisfies; `%` matches all. */
  like: string
  fold: boolean
  from: (Position & { included: boolean }) | null
  limit: number
}

export interface Candidate {
  id: Id
  workspace_id: Id
  path: string
  place: string
  name: string
  mime_type: string | null
  size_bytes: bigint
  sha256: string
  plain: boolean
  waiting: boolean
  reason: string | null
  has_text: boolean
}

const inOrder = sql`left(f.path, 400) collate "C"`

function visible({ workspaces, shared, sharedFolders }: Within): RawBuilder<unknown> {
  const own = sql`f.workspace_id = any(${workspaces}::ulid[])`
  if (shared.length === 0) return own
  return sql`(${own} or f.id = any(${shared}::ulid[]) or f.ancestors && ${sharedFolders}::text[])`
}

function conditions({ kind, below, like, fold, from, ...within }: Range): RawBuilder<unknown> {
  const parts = [sql`not f.trashed`, visible(within)]
  if (kind !== null) parts.push(sql`f.kind = ${kind}`)
  if (below !== '') {
    const inside = `${below}/`
    parts.push(sql`starts_with(f.path, ${inside})`)
    // The same condition for the index, as far as its entries reach.
    const edge = inside.slice(0, 400)
    parts.push(sql`${inOrder} >= ${edge}`, sql`${inOrder} < ${`${edge}\u{10ffff}`}`)
  }
  if (like !== '%') parts.push(fold ? sql`f.path ilike ${like}` : sql`f.path like ${like}`)
  if (from !== null)
    parts.push(
      from.included
        ? sql`(${inOrder}, f.id) >= (${from.path}, ${from.id}::ulid)`
        : sql`(${inOrder}, f.id) > (${from.path}, ${from.id}::ulid)`,
    )
  return sql.join(parts, sql` and `)
}

function gramCondition(query: Exclude<GramQuery, null>): RawBuilder<unknown> {
  if ('grams' in query) return sql`c.grams @> ${query.grams}::int4[]`
  const parts = ('all' in query ? query.all : query.any).map((one) => gramCondition(one!))
  return sql`(${sql.join(parts, 'all' in query ? sql` and ` : sql` or `)})`
}

export const findStore = {
  async paths(db: Db, range: Range): Promise<{ id: Id; path: string }[]> {
    // Few rows may match: then all are read at once, instead of in index order.
    const order = range.like === '%' ? inOrder : sql`left(f.path, 400) || ''`
    const { rows } = await sql<{ id: Id; path: string }>`select f.id, f.path from files f
      where ${conditions(range)} order by ${range.like === '%' ? order : sql`(${order}) collate "C"`}, f.id limit ${range.limit}`.execute(
      db,
    )
    return rows
  },

  /** Files in path order that the trigram index can't rule out. */
  async candidates(db: Db, range: Range, grams: GramQuery): Promise<Candidate[]> {
    const columns = sql`f.id, f.workspace_id, f.path, f.sha256, f.size_bytes, b.place, f.name, f.mime_type, c.plain, c.reason,
      c.indexed_at is null as waiting, c.text is not null as has_text`
    const { rows } = await (
      grams === null
        ? sql<Candidate>`select ${columns} from files f join blobs b on b.sha256 = f.sha256 join contents c on c.sha256 = f.sha256
          where ${conditions(range)} order by ${inOrder}, f.id limit ${range.limit}`
        : sql<Candidate>`with hit as materialized (
            select c.sha256 from contents c where ${gramCondition(grams)}
            union all select c.sha256 from contents c where c.grams is null)
          select ${columns} from hit join files f on f.sha256 = hit.sha256 join blobs b on b.sha256 = f.sha256
            join contents c on c.sha256 = f.sha256
          where ${conditions(range)} order by ${inOrder}, f.id limit ${range.limit}`
    ).execute(db)
    return rows
  },

  async learnt(db: Db, sha256: string): Promise<{ text: string | null; reason: string | null }> {
    const { rows } = await sql<{
      text: string | null
      reason: string | null
    }>`select text, reason from contents where sha256 = ${sha256}`.execute(db)
    return rows[0] ?? { text: null, reason: null }
  },

  async texts(db: Db, hashes: readonly string[]): Promise<Map<string, string>> {
    if (hashes.length === 0) return new Map()
    const { rows } = await sql<{
      sha256: string
      text: string
    }>`select sha256, text from contents where sha256 = any(${hashes}::bpchar[]) and text is not null`.execute(db)
    return new Map(rows.map(({ sha256, text }) => [sha256, text]))
  },
}
