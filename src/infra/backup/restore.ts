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
 * Fills an empty instance from a verified backup: first the blobs, unreferenced, each checked against its hash; then
 * the database in one transaction. A failure leaves an empty instance, and the restore can be repeated.
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
    // Creates the queue's tables, which backups don't include.
    await makeQueue(connection)
    await loadDatabase(client, source, places, afterwards, progress)
    await client.query('analyze')
  } finally {
    await client.end().catch(() => {})
  }
}

/** Loads a backup into a temporary database to detect errors a restore would hit. Doesn't copy blobs. */
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
  // The queue requires both listeners and otherwise prints warnings.
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

/** Yields `size` bytes, plus one if the source is longer, so that its hash differs. */
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
