import { sql } from 'kysely'
import { sharedPlace } from '#authz/shares.ts'
import type { Context, Engine } from '#infra/context.ts'
import type { Db } from '#infra/postgres/client.ts'
import type { Bytes } from '#core/answers.ts'
import { refuse } from '#core/errors.ts'
import { newId, parseId } from '#core/ids.ts'
import { behalfOf, membershipIn } from '#core/principal.ts'
import { isSameText } from '#core/text/same-text.ts'
import { bytesOf } from './download.ts'
import { type FileRow, fileStore } from '../store.ts'

export const LINK_PREFIX = '/f/'

interface Terms {
  method: 'GET'
  fileId: string
  version: number
  makerId: string
  /** The API key that signed it or started what signed it, else empty. */
  keyId: string
  /** Seconds since 1970. */
  expires: number
  /** The ID of a single-use link, else empty. */
  once: string
  disposition: 'inline' | 'attachment'
}

/**
 * Signs a URL that gives access to this version of the file without credentials. The signature (HMAC-SHA256 from
 * the root key) covers the terms, the secret of the creator's key and how often the file was trashed, so trashing
 * the file or losing the key ends the link.
 */
export async function mintLink(
  ctx: Context,
  row: FileRow,
  { seconds, once, disposition }: { seconds: number; once: boolean; disposition: Terms['disposition'] },
): Promise<{ url: string; expires_at: Date }> {
  const { account_id: makerId, key_id } = behalfOf(ctx.principal)
  const expires = Math.floor(ctx.now().getTime() / 1000) + seconds
  const terms: Terms = {
    method: 'GET',
    fileId: row.id,
    version: row.content_version,
    makerId,
    keyId: key_id ?? '',
    expires,
    once: once ? newId() : '',
    disposition,
  }
  const [secret = ''] = await keySecrets(ctx.db, terms)
  const query = new URLSearchParams({
    by: makerId,
    ...(key_id !== null && { key: key_id }),
    version: String(terms.version),
    expires: String(expires),
    ...(once && { once: terms.once }),
    ...(disposition === 'attachment' && { disposition }),
    signature: sign(ctx.engine, terms, row, secret),
  })
  const path = `${LINK_PREFIX}${row.id}/${encodeURIComponent(row.name)}`
  return { url: `${ctx.engine.origin()}${path}?${query.toString()}`, expires_at: new Date(expires * 1000) }
}

/** The file name in the URL isn't signed, since it may change. */
const sign = (
  { secrets }: Pick<Engine, 'secrets'>,
  { method, fileId, version, makerId, keyId, expires, once, disposition }: Terms,
  { trashings }: Pick<FileRow, 'trashings'>,
  keySecret: string,
): string =>
  secrets
    .sign(
      'drive link',
      [method, LINK_PREFIX + fileId, version, makerId, keyId, keySecret, expires, once, disposition, trashings].join(
        '\n',
      ),
    )
    .toString('base64url')

/** Opens a link: 401 if it wasn't signed here or was revoked, 410 if expired, 404 if the file was deleted. */
export async function openLink(engine: Engine, method: string, url: string): Promise<Bytes> {
  if (method !== 'GET' && method !== 'HEAD')
    refuse('method_not_allowed', { message: 'Links support GET and HEAD.', headers: { allow: 'GET, HEAD' } })
  const { pathname, searchParams } = new URL(url, 'http://link')
  const id = parseId(pathname.slice(LINK_PREFIX.length).split('/')[0]!)
  const { db } = engine.postgres
  const row = id === null ? undefined : await fileStore.get(db, id)
  const terms: Terms = {
    method: 'GET',
    fileId: id ?? '',
    version: Number(searchParams.get('version') ?? NaN),
    makerId: searchParams.get('by') ?? '',
    keyId: searchParams.get('key') ?? '',
    expires: Number(searchParams.get('expires') ?? NaN),
    once: searchParams.get('once') ?? '',
    disposition: searchParams.get('disposition') === null ? 'inline' : 'attachment',
  }
  // Only the canonical spelling of the terms is valid.
  const asMinted =
    String(terms.expires) === searchParams.get('expires') &&
    String(terms.version) === searchParams.get('version') &&
    searchParams.get('once') !== '' &&
    searchParams.get('key') !== '' &&
    [null, 'attachment'].includes(searchParams.get('disposition'))
  const signature = searchParams.get('signature') ?? ''
  // Compares even without a row or key, so timing doesn't reveal which files exist.
  const secrets = await keySecrets(db, terms)
  const isSigned = [...secrets, ...(secrets.length === 0 ? ['-'] : [])]
    .map((secret) => isSameText(signature, sign(engine, terms, row ?? { trashings: -1 }, secret)))
    .includes(true)
  if (!isSigned || !asMinted) refuseLink()
  if (row === undefined || row.trashed || row.kind !== 'file') return refuse('not_found')
  if (terms.expires * 1000 <= Date.now()) refuse('link_expired')
  if (!(await makerMayRead(engine, terms, row))) refuseLink()
  const version =
    (await fileStore.version(db, row.id, { version: terms.version, id: null })) ??
    refuse('content_expired', { message: 'The file version of this link is no longer kept. Ask for a new link.' })
  if (terms.once !== '' && method === 'GET' && !(await spend(engine, terms)))
    refuse('link_expired', { message: 'This one-time link has already been used.' })
  const { sha256, size_bytes, mime_type, created_at } = version
  return bytesOf(
    engine,
    { name: row.name, sha256, size_bytes, mime_type, content_updated_at: created_at },
    terms.disposition,
  )
}

const refuseLink = (): never => refuse('invalid_signature', { message: 'This link isn’t valid, or it was revoked.' })

/**
 * The secret hashes of the link's key, newest first: two during a rotation, none once it is revoked. Without a key,
 * one empty hash.
 */
async function keySecrets(db: Db, { makerId, keyId }: Pick<Terms, 'makerId' | 'keyId'>): Promise<string[]> {
  if (keyId === '') return ['']
  const [id, accountId] = [parseId(keyId), parseId(makerId)]
  if (id === null || accountId === null) return []
  const { rows } = await sql<{ secrets: string[] }>`
    select array_remove(array[encode(key_hash, 'hex'),
      case when previous_expires_at > now() then encode(previous_hash, 'hex') end], null) as secrets
    from api_keys
    where id = ${id} and account_id = ${accountId} and revoked_at is null and (expires_at is null or expires_at > now())`.execute(
    db,
  )
  return rows[0]?.secrets ?? []
}

/** Whether the signing account may read the file now, within its key's restrictions. */
async function makerMayRead(engine: Engine, { makerId, keyId }: Terms, row: FileRow): Promise<boolean> {
  const ctx = await engine.actAs({
    accountId: makerId,
    scopes: ['drive:read'],
    workspaceId: null,
    payingKeyId: keyId === '' ? null : keyId,
    signal: AbortSignal.timeout(MAKER_MS),
  })
  if (ctx === null) return false
  const { credential } = ctx.principal
  const heldTo = credential.kind === 'server' ? (credential.payingKey?.workspaceId ?? null) : null
  if (heldTo !== null && heldTo !== row.workspace_id) return false
  const place =
    membershipIn(ctx.principal, row.workspace_id) ?? (await sharedPlace(engine.postgres.db, ctx.principal, 'file', row))
  return place !== null && (place.permissions === null || place.permissions.has('drive:read'))
}

const MAKER_MS = 30_000

/** Marks a single-use link as used. False if it was used before. */
async function spend({ postgres: { db } }: Engine, { once, expires }: Terms): Promise<boolean> {
  const { numAffectedRows } = await sql`insert into spent_links (id, expires_at)
    values (${once}, to_timestamp(${expires})) on conflict do nothing`.execute(db)
  return numAffectedRows === 1n
}

/** Expired links needn't be remembered. */
export async function forgetLinks({ postgres: { db } }: Pick<Engine, 'postgres'>): Promise<void> {
  await sql`delete from spent_links where expires_at < now() - interval '1 hour'`.execute(db)
}
