import pg from 'pg'
import { runMigrations } from 'graphile-worker'
import type { Blobs } from '../blobs/blobs.ts'
import { eachAtOnce } from './at-once.ts'
import { type Afterwards, checkEmpty, loadDatabase } from './load.ts'
import type { Progress } from './progress.ts'
import type { Source } from './layout/source.ts'
import { type ListedBlob, damagedBlob } from './verify.ts'

const AT_ONCE = 8

/**
 * Fills an empty instance from a backup whose database was verified: first the bytes, each held against its hash as it comes, and
 * nothing refers to them yet; then the database in one transaction. Cut off or refused anywhere it leaves an empty instance, and can
 * be begun again.
 */
export async function restoreBackup(
  { connection, blobs }: { connection: pg.ClientConfig; blobs: Blobs },
  source: Source,
  blobList: readonly ListedBlob[],
  afterwards: Afterwards,
  progress: Progress,
): Promise<void> {
  const client = new pg.Client({ ...connection, application_name: 'ukiyo restore', statement_timeout: 0 })
  client.on('error', () => {})
  await client.connect()
  try {
    await checkEmpty(client, source.manifest)
    const places = await bringBlobs(blobs, source, blobList, progress)
    // The queue's own tables, which a backup holds no copy of.
    await makeQueue(connection)
    await loadDatabase(client, source, places, afterwards, progress)
    await client.query('analyze')
  } finally {
    await client.end().catch(() => {})
  }
}

/**
 * Loads the database of a backup into an empty one that nobody keeps, as a restore would: what fails here would fail there. The
 * bytes of files are left where they are.
 */
export async function tryRestore(
  connection: pg.ClientConfig,
  source: Source,
  blobList: readonly ListedBlob[],
  afterwards: Afterwards,
  progress: Progress,
): Promise<void> {
  const client = new pg.Client({ ...connection, application_name: 'ukiyo restore', statement_timeout: 0 })
  client.on('error', () => {})
  await client.connect()
  try {
    await makeQueue(connection)
    const places = new Map(blobList.map(({ sha256 }) => [sha256, sha256]))
    await loadDatabase(client, source, places, afterwards, progress)
  } finally {
    await client.end().catch(() => {})
  }
}

async function makeQueue(connection: pg.ClientConfig): Promise<void> {
  const pool = new pg.Pool({ ...connection, max: 1 })
  // The queue wants both heard, and says so on the screen of whoever restores.
  pool.on('error', () => {}).on('connect', (client) => client.on('error', () => {}))
  try {
    await runMigrations({ pgPool: pool })
  } finally {
    await pool.end()
  }
}

async function bringBlobs(
  blobs: Blobs,
  source: Source,
  blobList: readonly ListedBlob[],
  progress: Progress,
): Promise<Map<string, string>> {
  progress.begin(
    'files',
    blobList.reduce((sum, { size }) => sum + size, 0),
  )
  const places = new Map<string, string>()
  await eachAtOnce(blobList, AT_ONCE, async ({ sha256, size }) => {
    const stagedBlob = await blobs.stage(limitBytes(source.readBlob(sha256), size, progress))
    if (stagedBlob.sha256 !== sha256) {
      await stagedBlob.discard()
      throw damagedBlob(sha256)
    }
    places.set(sha256, await stagedBlob.keep())
  })
  return places
}

/** Yields `size` bytes of the source, and one more where it is longer, so that its hash differs. */
async function* limitBytes(
  source: AsyncIterable<Uint8Array>,
  size: number,
  progress: Progress,
): AsyncGenerator<Uint8Array> {
  let length = 0
  for await (const part of source) {
    length += part.length
    progress.add(part.length)
    yield part
    if (length > size) return
  }
}
