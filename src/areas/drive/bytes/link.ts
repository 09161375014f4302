import { sql } from 'kysely'
import type { Context, Engine } from '#engine/context.ts'
import type { Bytes } from '#kernel/answers.ts'
import { refuse } from '#kernel/errors.ts'
import { newId, parseId } from '#kernel/ids.ts'
import { isSameText } from '#kernel/text/same-text.ts'
import { bytesOf } from './download.ts'
import { type FileRow, fileStore } from '../store.ts'

export const LINK_PREFIX = '/f/'

interface Terms {
  method: 'GET'
  fileId: string
  /** Seconds since 1970. */
  expires: number
  /** The link's id where it works once, else empty. */
  once: string
  disposition: 'inline' | 'attachment'
}

/**
 * An address whose holder may read the bytes of this file, with no other credentials, until it expires. What it grants
 * is signed: HMAC-SHA256 under a key that comes from the root key over method, path, expiry, single use, disposition,
 * and how often the file has been in the trash, so that trashing it ends all of its links.
 */
export function mintLink(
  ctx: Context,
  row: FileRow,
  { seconds, once, disposition }: { seconds: number; once: boolean; disposition: Terms['disposition'] },
): { url: string; expires_at: Date } {
  const expires = Math.floor(ctx.now().getTime() / 1000) + seconds
  const terms: Terms = { method: 'GET', fileId: row.id, expires, once: once ? newId() : '', disposition }
  const query = new URLSearchParams({
    expires: String(expires),
    ...(once && { once: terms.once }),
    ...(disposition === 'attachment' && { disposition }),
    signature: sign(ctx.engine, terms, row),
  })
  const path = `${LINK_PREFIX}${row.id}/${encodeURIComponent(row.name)}`
  return { url: `${ctx.engine.origin()}${path}?${query.toString()}`, expires_at: new Date(expires * 1000) }
}

/** The path without the name, which is there for people and may change. */
const sign = ({ secrets }: Engine, terms: Terms, { trashings }: Pick<FileRow, 'trashings'>): string =>
  secrets
    .sign(
      'drive link',
      [terms.method, LINK_PREFIX + terms.fileId, terms.expires, terms.once, terms.disposition, trashings].join('\n'),
    )
    .toString('base64url')

/** Opens a link. 401 for one that we did not sign, 410 for one that is over, 404 where the file is gone. */
export async function openLink(engine: Engine, method: string, url: string): Promise<Bytes> {
  if (method !== 'GET' && method !== 'HEAD')
    refuse('method_not_allowed', { message: 'A link takes GET, HEAD.', headers: { allow: 'GET, HEAD' } })
  const { pathname, searchParams } = new URL(url, 'http://link')
  const id = parseId(pathname.slice(LINK_PREFIX.length).split('/')[0]!)
  const { db } = engine.postgres
  const row = id === null ? undefined : await fileStore.get(db, id)
  const terms: Terms = {
    method: 'GET',
    fileId: id ?? '',
    expires: Number(searchParams.get('expires') ?? NaN),
    once: searchParams.get('once') ?? '',
    disposition: searchParams.get('disposition') === null ? 'inline' : 'attachment',
  }
  // A signature counts in one spelling.
  const asMinted =
    String(terms.expires) === searchParams.get('expires') &&
    searchParams.get('once') !== '' &&
    [null, 'attachment'].includes(searchParams.get('disposition'))
  // The comparison is made without a row all the same: the time it takes tells nobody which files there are.
  const expected = sign(engine, terms, row ?? { trashings: -1 })
  if (!isSameText(searchParams.get('signature') ?? '', expected) || !asMinted)
    refuse('invalid_signature', { message: 'This link was not made here, or it has been revoked.' })
  if (row === undefined || row.trashed || row.kind !== 'file') return refuse('not_found')
  if (terms.expires * 1000 <= Date.now()) refuse('link_expired')
  if (terms.once !== '' && method === 'GET' && !(await spend(engine, terms)))
    refuse('link_expired', { message: 'This link held once and has been used.' })
  return bytesOf(engine, row, terms.disposition)
}

/** False when it has been used before. */
async function spend({ postgres: { db } }: Engine, { once, expires }: Terms): Promise<boolean> {
  const { numAffectedRows } = await sql`insert into spent_links (id, expires_at)
    values (${once}, to_timestamp(${expires})) on conflict do nothing`.execute(db)
  return numAffectedRows === 1n
}

/** Links that are over anyway need not be remembered. */
export async function forgetLinks({ postgres: { db } }: Pick<Engine, 'postgres'>): Promise<void> {
  await sql`delete from spent_links where expires_at < now() - interval '1 hour'`.execute(db)
}
