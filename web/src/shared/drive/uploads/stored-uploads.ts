import type { Entry } from './entry.ts'

/** An upload stored in the browser, with its file unless it is too large. */
export type StoredUpload = Omit<Entry, 'state' | 'sent' | 'rate'> & { accountId: string; file: File | null }

const DATABASE = 'uk-uploads'
const STORE = 'uploads'
/** Tells without opening the database whether it has entries. */
const MARK = 'uk-uploads'
/** The size limit: browsers copy stored files. */
export const MAX_KEPT_BYTES = 256e6

const asked = <T>(request: IDBRequest<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    request.addEventListener('success', () => resolve(request.result))
    request.addEventListener('error', () => reject(request.error ?? new Error('Browser storage is unavailable.')))
  })

async function open(): Promise<IDBDatabase> {
  const opening = indexedDB.open(DATABASE, 1)
  opening.addEventListener('upgradeneeded', () => void opening.result.createObjectStore(STORE, { keyPath: 'key' }))
  const database = await asked(opening)
  // Signing out deletes the database, and must not be blocked by this page.
  database.addEventListener('versionchange', () => database.close())
  return database
}

async function work<T>(mode: IDBTransactionMode, what: (store: IDBObjectStore) => IDBRequest<T>): Promise<T> {
  const database = await open()
  try {
    return await asked(what(database.transaction(STORE, mode).objectStore(STORE)))
  } finally {
    database.close()
  }
}

/** Without browser storage (some private windows), uploads work but don't survive a reload. */
const quietly = async (doing: Promise<unknown>): Promise<void> => void (await doing.catch(() => {}))

export const keep = (kept: StoredUpload): Promise<void> => {
  localStorage.setItem(MARK, '1')
  return quietly(work('readwrite', (store) => store.put(kept)))
}
export const drop = (key: string): Promise<void> => quietly(work('readwrite', (store) => store.delete(key)))

export const hasKept = (): boolean => localStorage.getItem(MARK) !== null

/** The person's stored uploads. Removes those of other users. */
export async function storedUploadsOf(accountId: string): Promise<StoredUpload[]> {
  const all = (await work('readonly', (store) => store.getAll()).catch(() => [])) as StoredUpload[]
  for (const { key, accountId: of } of all) if (of !== accountId) await drop(key)
  const mine = all.filter((one) => one.accountId === accountId)
  if (mine.length === 0) localStorage.removeItem(MARK)
  return mine
}

export function forgetUploads(): void {
  if (!hasKept()) return
  localStorage.removeItem(MARK)
  indexedDB.deleteDatabase(DATABASE)
}
