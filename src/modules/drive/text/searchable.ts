import { sql } from 'kysely'
import { type ContentOf, learnContents, textsOf } from '#infra/text/index/contents.ts'
import { Unreadable } from '#infra/text/documents/document.ts'
import { MAX_BODY, type SearchSources, type Searchable } from '#infra/text/index/searchable.ts'
import type { Id } from '#core/ids.ts'

interface Row extends Omit<ContentOf, 'sha256' | 'size_bytes'> {
  id: Id
  parent_id: Id | null
  kind: 'file' | 'folder'
  path: string
  sha256: string | null
  size_bytes: bigint | null
  repository: boolean
  created_at: Date
  updated_at: Date
}

/**
 * Makes files searchable by name and text. A folder with a `.git` is a repository, and Markdown in a folder `Notes`
 * a note.
 */
export const fileSearchable: Searchable = {
  kinds: ['file'],

  async findChanged({ postgres: { db } }, events) {
    const ids = events.flatMap(({ resource_id }) => (resource_id === null ? [] : [resource_id]))
    // A changed folder path changes the paths below it, and a `.git` makes its folder a repository.
    const folders = events.flatMap(({ type, resource_id, data }) =>
      resource_id !== null && data.kind === 'folder' && /\.(updated|moved|restored)$/.test(type) ? [resource_id] : [],
    )
    const { rows } = await sql<{ id: Id }>`
      select parent_id as id from files where id = any(${ids}::ulid[]) and name = '.git' and parent_id is not null
      union select x.id from unnest(${folders}::text[]) f(id) cross join lateral
        (select id from files where ancestors @> array[f.id]) x`.execute(db)
    // After a `.git` is moved, its old folder is no longer a repository, but the event doesn't name it.
    const moved = events.some(({ type }) => /\.(moved|updated|deleted)$/.test(type))
    const earlierRepositories = moved
      ? await sql<{ id: Id }>`select s.id from search_rows s join files f on f.id = s.id where s.type = 'repository'
          and not exists (select from files g where g.parent_id = f.id and g.name = '.git' and not g.trashed)`.execute(
          db,
        )
      : { rows: [] }
    return [...new Set([...ids, ...rows.map(({ id }) => id), ...earlierRepositories.rows.map(({ id }) => id)])]
  },

  async read(engine, ids) {
    const { rows } =
      await sql<Row>`select f.id, f.parent_id, f.kind, f.name, f.path, f.sha256, f.size_bytes, f.mime_type, coalesce(r.created_by, r.workspace_id) as account, r.created_at, r.updated_at,
        f.kind = 'folder' and exists (select from files g where g.parent_id = f.id and g.name = '.git' and not g.trashed) as repository
      from files f join resources r on r.id = f.id
      where f.id = any(${ids}::ulid[]) and not f.path ~ '(^|/)[.]git(/|$)'`.execute(engine.postgres.db)
    const files = rows.filter((row): row is Row & ContentOf => row.kind === 'file' && row.sha256 !== null)
    const texts = await textsFor(engine, files)
    return rows
      .filter(({ kind, repository }) => kind === 'file' || repository)
      .map((row) => {
        const text = row.sha256 === null ? undefined : texts.get(row.sha256)
        return {
          type: row.repository ? 'repository' : isNote(row.path) ? 'note' : 'file',
          id: row.id,
          resource_id: row.id,
          parent_id: row.parent_id,
          title: row.name,
          keywords: [row.path, text?.title].filter(Boolean).join('\n'),
          body: text?.text ?? '',
          created_at: row.created_at,
          updated_at: row.updated_at,
        }
      })
  },

  async all({ postgres: { db } }, after, limit) {
    const rows = await db
      .selectFrom('files')
      .select('id')
      .$if(after !== null, (query) => query.where('id', '>', after!))
      .orderBy('id')
      .limit(limit)
      .execute()
    return rows.map(({ id }) => id)
  },
}

export const isNote = (path: string): boolean => /(^|\/)Notes\/([^/]+\/)*[^/]+\.(md|markdown)$/i.test(path)

/** Indexes plain text immediately. Documents take longer, so a job extracts them and updates their files. */
async function textsFor(engine: SearchSources, files: readonly (Row & ContentOf)[]) {
  const { pending: pendingHashes, texts: newTexts } = await learnContents(engine, files, {
    documents: false,
    most: MAX_BODY,
  })
  for (const sha256 of pendingHashes) {
    const { id } = files.find((file) => file.sha256 === sha256)!
    await learnLater(engine, sha256, id)
  }
  // While a document is extracted again, its earlier text stays searchable.
  const otherHashes = files.map(({ sha256 }) => sha256).filter((sha256) => !newTexts.has(sha256))
  return new Map([...newTexts, ...(await textsOf(engine, otherHashes, MAX_BODY))])
}

const BUSY_SECONDS = 10

const learnLater = (engine: SearchSources, sha256: string, id: Id, inSeconds = 0): Promise<void> =>
  engine.jobs.add(engine.postgres, 'search.learn', { id }, { key: `search.learn:${sha256}`, inSeconds })

/** Extracts a document's text in a separate process. Throws to be retried. */
export async function learnFile(engine: SearchSources, id: Id): Promise<Id[]> {
  const { rows } =
    await sql<ContentOf>`select f.sha256, f.name, f.mime_type, f.size_bytes, coalesce(r.created_by, r.workspace_id) as account
      from files f join resources r on r.id = f.id where f.id = ${id} and f.sha256 is not null`.execute(
      engine.postgres.db,
    )
  const contents = await learnContents(engine, rows, { documents: true }).catch((error: unknown) => {
    if (error instanceof Unreadable) return null
    throw error
  })
  if (contents === null) {
    // The account has too many queued extractions, so the job yields its slot.
    await learnLater(engine, rows[0]!.sha256, id, BUSY_SECONDS)
    return []
  }
  if (contents.pending.size > 0) throw new Error('the document is to be read again')
  const same = await sql<{
    id: Id
  }>`select id from files where sha256 = any(${rows.map(({ sha256 }) => sha256)}::bpchar[])`.execute(engine.postgres.db)
  return same.rows.map(({ id }) => id)
}
