import { sql } from 'kysely'
import type { Db, Postgres } from '../../postgres/client.ts'
import { type DocumentKind, type DocumentInput, READER_VERSION, type DocumentText, Unreadable } from './document.ts'
import type { DocumentReader } from './reader.ts'

declare module '../../postgres/tables.ts' {
  interface Database {
    slow_documents: { sha256: string; kind: string; reader: number; reason: 'too_slow' | 'too_large'; at: Date }
  }
}

/** Days until a document that exceeded limits is read again; a new reader version ignores it. */
const DAYS = 7

export interface ReadRequest {
  account: string
  kind: DocumentKind
  sha256: string
  load: () => DocumentInput | Promise<DocumentInput>
  signal?: AbortSignal
}

/**
 * Reads a document in the account's turn. Documents that exceed limits are remembered by hash for all processes, so
 * they fail only once. Throws `Unreadable`.
 */
export async function readDocument(
  { documents, postgres: { db } }: { documents: DocumentReader; postgres: Postgres },
  { account, kind, sha256, load, signal }: ReadRequest,
): Promise<DocumentText> {
  await checkSlow(db, sha256, kind)
  // Checked again at its turn, because the same bytes may have failed meanwhile.
  const begin = async (): Promise<DocumentInput> => {
    await checkSlow(db, sha256, kind)
    return load()
  }
  const reading = documents.read(account, begin, signal, (reason) => remember(db, { sha256, kind, reason }))
  return signal === undefined ? reading : orAborted(reading, signal)
}

async function checkSlow(db: Db, sha256: string, kind: DocumentKind): Promise<void> {
  const before = await db
    .selectFrom('slow_documents')
    .select('reason')
    .where('sha256', '=', sha256)
    .where('kind', '=', kind)
    .where('reader', '=', READER_VERSION)
    .where('at', '>', sql<Date>`now() - make_interval(days => ${DAYS})`)
    .executeTakeFirst()
  if (before !== undefined) throw new Unreadable(before.reason, 'The document needs too much time or memory to read.')
}

async function remember(
  db: Db,
  { sha256, kind, reason }: { sha256: string; kind: DocumentKind; reason: 'too_slow' | 'too_large' },
): Promise<void> {
  await sql`insert into slow_documents (sha256, kind, reader, reason, at) values (${sha256}, ${kind}, ${READER_VERSION}, ${reason}, now())
    on conflict (sha256, kind) do update set reader = excluded.reader, reason = excluded.reason, at = excluded.at`.execute(
    db,
  )
  await sql`delete from slow_documents where at < now() - make_interval(days => ${DAYS})`.execute(db)
}

/** A caller who leaves doesn't wait for work in progress, but its outcome is still recorded. */
function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const leave = (): void => reject(signal.reason as Error)
    if (signal.aborted) leave()
    signal.addEventListener('abort', leave, { once: true })
    work.finally(() => signal.removeEventListener('abort', leave)).then(resolve, reject)
  })
}
