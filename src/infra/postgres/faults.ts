import { Refusal } from '#core/errors.ts'

/** Faults of the database that have a name of their own on the wire; null: it is none. */
export function storageFault(error: unknown): Refusal | null {
  const state = error instanceof Error && 'code' in error ? String(error.code) : ''
  // 53100 disk_full, ENOSPC; 57P0x the server goes down or is not up; 08xxx the connection broke.
  if (state === '53100' || state === 'ENOSPC') return new Refusal('storage_full')
  // 57014 query_canceled, by the limit of the statement.
  if (state === '57014')
    return new Refusal('timeout', {
      message: 'The database took too long and stopped this request. Nothing was changed. Request less at a time.',
    })
  if (
    /^57P0|^08|^ECONN|^ENOENT$/.test(state) ||
    (error instanceof Error &&
      /timeout exceeded when trying to connect|Connection terminated|not queryable/.test(error.message))
  )
    return new Refusal('unavailable', {
      message: 'The database can’t be reached right now. Try again later.',
      headers: { 'retry-after': '1' },
    })
  return null
}
