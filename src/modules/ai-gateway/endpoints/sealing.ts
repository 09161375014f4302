import type { Secrets } from '#infra/secrets.ts'
import type { Log } from '#infra/log.ts'
import type { Db } from '#infra/postgres/client.ts'
import type { Id } from '#core/ids.ts'
import { type EndpointRow, endpointStore } from '../store.ts'

type Headers = Readonly<Record<string, string>>

/** Seals a key with the row's ID, so it can't be opened in another row. */
export const sealKey = (secrets: Secrets, id: Id, key: string | null) => ({
  sealed_key: key === null ? null : secrets.seal(key, id),
  // Four characters would reveal too much of a short key.
  api_key_last4: key === null || key.length < 12 ? null : key.slice(-4),
})

export function sealHeaders(secrets: Secrets, id: Id, headers: Headers) {
  const names = Object.keys(headers).map((name) => name.toLowerCase())
  return {
    sealed_headers: names.length === 0 ? null : secrets.seal(JSON.stringify(headers), `${id} headers`),
    header_names: names.toSorted(),
  }
}

const openKey = (secrets: Secrets, { id, sealed_key }: EndpointRow): string | null =>
  sealed_key === null ? null : secrets.open(sealed_key, id)

const openHeaders = (secrets: Secrets, { id, sealed_headers }: EndpointRow): Headers =>
  sealed_headers === null ? {} : (JSON.parse(secrets.open(sealed_headers, `${id} headers`)) as Headers)

export const openSecrets = (secrets: Secrets, row: EndpointRow): { apiKey: string | null; headers: Headers } => ({
  apiKey: openKey(secrets, row),
  headers: openHeaders(secrets, row),
})

export function whyUnreadable(secrets: Secrets, row: EndpointRow): string | null {
  if (!opens(() => openKey(secrets, row)))
    return 'The key can’t be decrypted with this instance’s root keys. Enter it again.'
  if (!opens(() => openHeaders(secrets, row)))
    return 'The headers can’t be decrypted with this instance’s root keys. Enter them again.'
  return null
}

function opens(open: () => unknown): boolean {
  try {
    open()
    return true
  } catch {
    return false
  }
}

const AT_ONCE = 200

/** Safe to run in several processes at once. */
export async function resealAll(db: Db, secrets: Secrets, log: Log): Promise<void> {
  let after: Id = ''
  for (;;) {
    const rows = await endpointStore.sealedAfter(db, after, AT_ONCE)
    for (const { id, sealed_key, sealed_headers } of rows) {
      try {
        if (sealed_key !== null && secrets.isStale(sealed_key))
          await endpointStore.reseal(db, id, 'sealed_key', sealed_key, secrets.seal(secrets.open(sealed_key, id), id))
        if (sealed_headers !== null && secrets.isStale(sealed_headers)) {
          const place = `${id} headers`
          const again = secrets.seal(secrets.open(sealed_headers, place), place)
          await endpointStore.reseal(db, id, 'sealed_headers', sealed_headers, again)
        }
      } catch (error) {
        log.error({ error, provider_endpoint: id }, 'a provider endpoint’s key cannot be decrypted')
      }
    }
    if (rows.length < AT_ONCE) return
    after = rows.at(-1)!.id
  }
}
