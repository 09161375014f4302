import { Refusal } from '#core/errors.ts'

export function storageFault(error: unknown): Refusal | null {
  const state = error instanceof Error && 'code' in error ? String(error.code) : ''
  // 53100 disk_full, ENOSPC; 57P0x shutting down or not started; 08xxx connection lost.
  if (state === '53100' || state === 'ENOSPC') return new Refusal('storage_full')
  // 57014 query_canceled, by the statement limit.
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
