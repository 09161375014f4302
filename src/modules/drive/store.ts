import { type Generated, type RawBuilder, type Selectable, sql } from 'kysely'
import type { Db } from '#infra/postgres/client.ts'
import { newestFirst } from '#infra/postgres/newest-first.ts'
import { type ResourceRow, type Status, resourcePage } from '#authz/resources.ts'
import type { Id } from '#core/ids.ts'

/** Up to this number the lowest free number is used. */
const LOWEST_TRIED = 64

declare module '#infra/postgres/tables.ts' {
  interface Database {
    files: FileTable
    file_versions: FileVersionTable
  }
}

export interface FileTable {
  id: Id
  workspace_id: Id
  parent_id: Id | null
  kind: 'file' | 'folder'
  name: string
  path: string
  ancestors: Id[]
  trashed: Generated<boolean>
  trashed_with: Id | null
  trashings: Generated<number>
  mime_type: string | null
  size_bytes: bigint | null
  sha256: string | null
  content_version: Generated<number>
  content_updated_at: Date | null
}
export type FileRow = Selectable<FileTable> & Omit<ResourceRow, 'kind'>

interface FileVersionTable {
  id: Id
  file_id: Id
  workspace_id: Id
  version: number
  sha256: string
  size_bytes: bigint
  mime_type: string
  restored_from: number | null
  created_by: Id | null
  created_at: Generated<Date>
}
export type FileVersionRow = Selectable<FileVersionTable>

export interface FilePage {
  workspaces: readonly Id[]
  /** Lists a folder's direct children; `root`: those of the workspaces' roots; null: everything. */
  parent: Id | 'root' | null
  kind: 'file' | 'folder' | null
  status: Status
  before: Id | null
  limit: number
}

const whole = (db: Db) =>
  db
    .selectFrom('resources as r')
    .innerJoin('files as f', 'f.id', 'r.id')
    .selectAll(['r', 'f'])
    // Both tables have `kind`; the later one counts.
    .$castTo<FileRow>()

export const fileStore = {
  get: (db: Db, id: Id): Promise<FileRow | undefined> => whole(db).where('r.id', '=', id).executeTakeFirst(),

  /** Files by ID, in that order; deleted ones are missing. */
  async all(db: Db, ids: readonly Id[]): Promise<FileRow[]> {
    if (ids.length === 0) return []
    const rows = new Map((await whole(db).where('r.id', 'in', ids).execute()).map((row) => [row.id, row]))
    return ids.flatMap((id) => rows.get(id) ?? [])
  },

  /** Newest first. The trash lists what was trashed itself, not its contents, unless a folder is given. */
  list(db: Db, { workspaces, parent, kind, status, before, limit }: FilePage): Promise<FileRow[]> {
    const trashed = status === 'trashed'
    if (parent !== null && !trashed) return listFolder(db, { workspaces, parent, kind, before, limit })
    const place =
      parent === null
        ? trashed
          ? sql`and f.trashed_with = f.id`
          : sql``
        : parent === 'root'
          ? sql`and f.parent_id is null`
          : sql`and f.parent_id = ${parent}`
    const also =
      parent === null && kind === null && !trashed
        ? {}
        : {
            also: sql<boolean>`exists (select from files f where f.id = x.id ${place} ${
              kind === null ? sql`` : sql`and f.kind = ${kind}`
            })`,
          }
    return db
      .selectFrom(resourcePage({ kind: 'file', workspaces, status, before, limit, ...also }).as('r'))
      .innerJoin('files as f', 'f.id', 'r.id')
      .selectAll(['r', 'f'])
      .$castTo<FileRow>()
      .orderBy('r.id', 'desc')
      .execute()
  },

  /** Files by content change, newest first, after this time and ID. */
  latest(
    db: Db,
    { workspaces, after, limit }: { workspaces: readonly Id[]; after: { at: Date; id: Id } | null; limit: number },
  ): Promise<FileRow[]> {
    // Reads only this many entries of `files_latest` per workspace.
    const page = sql<{ id: Id }>`(select l.id from unnest(${workspaces}::ulid[]) w(id) cross join lateral (
      select f.id, f.content_updated_at from files f where f.workspace_id = w.id and f.kind = 'file' and not f.trashed
        ${after === null ? sql`` : sql`and (f.content_updated_at, f.id) < (${after.at}, ${after.id}::ulid)`}
      order by f.content_updated_at desc, f.id desc limit ${limit}) l
      order by l.content_updated_at desc, l.id desc limit ${limit})`
    return whole(db)
      .where(sql<boolean>`f.id in ${page}`)
      .orderBy('f.content_updated_at', 'desc')
      .orderBy('f.id', 'desc')
      .execute()
  },

  /** Files below a folder, or of a trashed folder those trashed with it. Folders come before their contents. */
  below: (db: Db, { id, trashed_with }: Pick<FileRow, 'id' | 'trashed_with'>, limit: number): Promise<FileRow[]> =>
    whole(db)
      .where(sql<boolean>`f.ancestors @> array[${id}::text]`)
      .where(trashed_with === null ? sql<boolean>`not f.trashed` : sql<boolean>`f.trashed_with = ${trashed_with}`)
      .orderBy(sql`cardinality(f.ancestors)`)
      .orderBy('f.path')
      .limit(limit)
      .execute(),

  named: (db: Db, workspaceId: Id, parentId: Id | null, name: string): Promise<FileRow | undefined> =>
    whole(db)
      .where('f.workspace_id', '=', workspaceId)
      .where(parentId === null ? sql<boolean>`f.parent_id is null` : sql<boolean>`f.parent_id = ${parentId}`)
      .where('f.name', '=', name)
      .where('f.trashed', '=', false)
      .executeTakeFirst(),

  /**
   * Finds a free numbered form of a name (split by `aroundNumber`): the lowest up to `LOWEST_TRIED`, beyond that by
   * doubling and bisecting, so a name taken a million times needs about twenty more lookups.
   */
  async freeName(
    db: Db,
    workspaceId: Id,
    parentId: Id | null,
    { before, after }: { before: readonly string[]; after: string },
  ): Promise<string> {
    const nameOf = (n: RawBuilder<unknown>) =>
      sql`((${before}::text[])[length(${n}::text)] || ${n}::text || ${after}::text)`
    const parent = parentId === null ? sql`f.parent_id is null` : sql`f.parent_id = ${parentId}`
    const isTaken = (n: RawBuilder<unknown>) => sql`exists (select from files f where f.workspace_id = ${workspaceId}
      and ${parent} and f.name = ${nameOf(n)} collate "C" and not f.trashed)`
    const { rows } = await sql<{ name: string }>`with recursive lowest as (
        select (select n::int8 from generate_series(2, ${LOWEST_TRIED}::int) n where not ${isTaken(sql`n`)} order by n limit 1) as n
      ), search(taken, free) as (
        select coalesce(n - 1, ${LOWEST_TRIED}::int8), n from lowest
        union all
        select case when t.is_taken then p.n else p.taken end, case when t.is_taken then p.free else p.n end
        from (select taken, free, case when free is null then taken * 2 else (taken + free) / 2 end as n from search
            where free is null or free - taken > 1) p
          cross join lateral (select ${isTaken(sql`p.n`)} as is_taken) t
      ) select ${nameOf(sql`free`)} as name from search where free - taken = 1`.execute(db)
    return rows[0]!.name
  },

  async insert(
    db: Db,
    row: Pick<FileRow, 'id' | 'workspace_id' | 'parent_id' | 'kind' | 'name' | 'path' | 'ancestors'> & Content,
  ): Promise<boolean> {
    const { ancestors, size_bytes, ...rest } = row
    const inserted = await db
      .insertInto('files')
      .values({
        ...rest,
        ancestors: sql`${ancestors}::text[]`,
        size_bytes: size_bytes === null ? null : sql`${String(size_bytes)}::int8`,
        trashed_with: null,
      })
      .onConflict((conflict) => conflict.doNothing())
      .returning('id')
      .executeTakeFirst()
    return inserted !== undefined
  },

  async setContent(db: Db, id: Id, { size_bytes, ...content }: Content): Promise<void> {
    await db
      .updateTable('files')
      .set({ ...content, size_bytes: sql`${String(size_bytes)}::int8` })
      .where('id', '=', id)
      .execute()
  },

  async insertVersion(
    db: Db,
    { size_bytes, ...row }: Omit<FileVersionRow, 'created_at'> & { created_at: Date },
  ): Promise<void> {
    await db
      .insertInto('file_versions')
      .values({ ...row, size_bytes: sql`${String(size_bytes)}::int8` })
      .execute()
  },

  versions: (db: Db, fileId: Id, before: number | null, limit: number): Promise<FileVersionRow[]> =>
    db
      .selectFrom('file_versions')
      .selectAll()
      .where('file_id', '=', fileId)
      .$call(newestFirst('version', before, limit))
      .execute(),

  version: (
    db: Db,
    fileId: Id,
    { version, id }: { version: number | null; id: Id | null },
  ): Promise<FileVersionRow | undefined> =>
    db
      .selectFrom('file_versions')
      .selectAll()
      .where('file_id', '=', fileId)
      .$if(version !== null, (query) => query.where('version', '=', version!))
      .$if(id !== null, (query) => query.where('id', '=', id!))
      .executeTakeFirst(),

  async forgetVersions(db: Db, fileId: Id, upTo: number): Promise<void> {
    if (upTo < 1) return
    await db.deleteFrom('file_versions').where('file_id', '=', fileId).where('version', '<=', upTo).execute()
  },
}

export type Content = Pick<FileRow, 'sha256' | 'size_bytes' | 'mime_type' | 'content_version' | 'content_updated_at'>

const listFolder = (
  db: Db,
  { workspaces, parent, kind, before, limit }: Omit<FilePage, 'status'>,
): Promise<FileRow[]> =>
  db
    .selectFrom(
      sql<{ id: Id }>`(select f.id from unnest(${workspaces}::ulid[]) w(id) cross join lateral (
        select x.id from files x where x.workspace_id = w.id and not x.trashed
          and ${parent === 'root' ? sql`x.parent_id is null` : sql`x.parent_id = ${parent}`}
          ${kind === null ? sql`` : sql`and x.kind = ${kind}`} ${before === null ? sql`` : sql`and x.id ~<~ ${before}`}
        order by x.id using ~>~ limit ${limit}) f order by f.id desc limit ${limit})`.as('p'),
    )
    .innerJoin('resources as r', 'r.id', 'p.id')
    .innerJoin('files as f', 'f.id', 'p.id')
    .selectAll(['r', 'f'])
    .$castTo<FileRow>()
    .orderBy('r.id', 'desc')
    .execute()
