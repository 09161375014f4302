import { existsSync, mkdirSync, mkdtempSync, renameSync, writeFileSync } from 'node:fs'
import { rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type pg from 'pg'
import { keepJob, settleRestored, type Settled } from '#modules/restored.ts'
import type { Config } from '#config'
import { checkMigrations } from '#infra/backup/load.ts'
import { BackupRefused } from '#infra/backup/layout/refused.ts'
import type { Progress } from '#infra/backup/progress.ts'
import type { Manifest } from '#infra/backup/layout/manifest.ts'
import { restoreBackup, tryRestore } from '#infra/backup/restore.ts'
import { openKeys } from '#infra/backup/layout/root-keys.ts'
import { type Source, openSource } from '#infra/backup/layout/source.ts'
import { type ListedBlob, verify, verifyDatabase } from '#infra/backup/verify.ts'
import { openBlobs } from '#infra/blobs/open.ts'
import { lockDataDir } from '#infra/postgres/embedded/datadir.ts'
import { startPostgres } from '#infra/postgres/embedded/supervisor.ts'
import { rootKeyId } from '#infra/secrets.ts'
import { configHere, presentKeys } from './instance.ts'
import { followed, say, sizeWords } from './report.ts'

export interface RestoreOptions {
  from: string
  passphrase: string | null
  /** Restores even if encrypted values can't be read. */
  withoutKey: boolean
  unsigned: boolean
  /** Continues work that was in progress at the time of the backup. */
  resume: boolean
  /** Verifies everything and loads the rows into a temporary database. */
  dryRun: boolean
  json: boolean
}

/** `uk restore`. Verifies the whole database part before writing any row. */
export async function restore(
  { from, passphrase, withoutKey, unsigned, resume, dryRun, json }: RestoreOptions,
  signal: AbortSignal,
): Promise<number> {
  const config = configHere()
  await using source = await openSource(from)
  const { manifest } = source
  checkMigrations(manifest)
  using progress = followed(signal)
  const startedAt = performance.now()
  const keys = dryRun && passphrase === null ? null : keysFor(manifest, config, passphrase, withoutKey)
  const signed = checkSignature(source, [...(keys ?? []), ...presentKeys(config)], { dryRun, withoutKey, unsigned })
  // Files are verified while they are copied, so they are read only once.
  const listed = await (dryRun ? verify : verifyDatabase)(source, progress)
  progress[Symbol.dispose]()
  const rows = manifest.tables.reduce((sum, table) => sum + table.rows, 0)
  if (dryRun) await tryDatabase(source, listed, resume, progress)
  progress[Symbol.dispose]()
  const what = `${rows} rows and ${listed.length} files (${sizeWords(manifest.blobs.bytes)}) from ${manifest.at}, Ukiyo ${manifest.version}`
  if (dryRun) {
    if (json)
      process.stdout.write(
        `${JSON.stringify({ backup: source.path, at: manifest.at, rows, files: listed.length, bytes: manifest.blobs.bytes, whole: true, signed, root_key: manifest.key.sealed !== null })}\n`,
      )
    else say(`${source.path} is complete and can be restored: ${what}. Nothing was changed.`)
    return 0
  }
  await using stack = new AsyncDisposableStack()
  stack.use(lockDataDir(config.dataDir))
  await checkRoom(config, manifest)
  const connection: pg.PoolConfig =
    config.databaseUrl === null
      ? stack.use(await startPostgres({ dataDir: config.dataDir, log: () => {} })).connection
      : { connectionString: config.databaseUrl }
  const blobs = stack.use(await openBlobs(config))
  let settled: Settled[] = []
  await restoreBackup(
    { connection, blobs },
    source,
    listed,
    {
      keepJob: (job) => resume || keepJob(job),
      async settle(db) {
        if (!resume) settled = await settleRestored(db)
        // Stored before the rows: if the restore is interrupted in between, running it again finds the key.
        if (keys !== null) keepKeys(config, keys)
      },
    },
    progress,
  )
  progress[Symbol.dispose]()
  const seconds = (performance.now() - startedAt) / 1000
  if (json)
    process.stdout.write(
      `${JSON.stringify({ backup: source.path, at: manifest.at, rows, files: listed.length, bytes: manifest.blobs.bytes, settled, seconds })}\n`,
    )
  else {
    say(`Restored ${what} in ${seconds.toFixed(1)} s.`)
    if (settled.length > 0) say('Not continued, since the original server may have done it already:')
    for (const { what, count } of settled) say(`  ${count} ${what}`)
    if (manifest.blobs.missing.length > 0)
      say(`${manifest.blobs.missing.length} files were already missing when the backup was made.`)
  }
  return 0
}

async function tryDatabase(
  source: Source,
  listed: readonly ListedBlob[],
  resume: boolean,
  progress: Progress,
): Promise<void> {
  await using stack = new AsyncDisposableStack()
  const scratch = mkdtempSync(join(tmpdir(), 'ukiyo-dry-run-'))
  stack.defer(() => rm(scratch, { recursive: true, force: true }))
  const { connection } = stack.use(
    await startPostgres({ dataDir: scratch, log: () => {}, settings: { fsync: 'off', full_page_writes: 'off' } }),
  )
  await tryRestore(
    connection,
    source,
    listed,
    {
      keepJob: (job) => resume || keepJob(job),
      async settle(db) {
        if (!resume) await settleRestored(db)
      },
    },
    progress,
  )
}

/**
 * Rejects a backup not written by the holder of this instance's root key: anyone with write access to its storage could
 * have changed accounts and passwords in it. Returns whether the signature is valid.
 */
function checkSignature(
  source: Source,
  rootKeys: readonly string[],
  { dryRun, withoutKey, unsigned }: Pick<RestoreOptions, 'dryRun' | 'withoutKey' | 'unsigned'>,
): boolean {
  const verdict = source.judge(rootKeys)
  if (verdict === 'valid') return true
  if (verdict === 'wrong')
    throw new BackupRefused(
      `${source.path} was modified after it was created: its signature doesn't match. Restore another backup`,
    )
  if (verdict === 'unsigned') {
    if (!unsigned)
      throw new BackupRefused(
        `${source.path} has no signature: an older version created it, or someone modified it. If only you have write access to its storage, restore it with --unsigned`,
      )
    say("The backup has no signature, so modifications can't be detected.")
  } else if (dryRun || withoutKey) say("The signature can't be verified, since the root key isn't on this host.")
  else throw new BackupRefused(`${source.path} wasn't signed with the root key of its secrets. Restore another backup`)
  return false
}

/** Requires space for the files and for a database several times its compressed size. */
async function checkRoom({ dataDir, databaseUrl, blobs }: Config, manifest: Manifest): Promise<void> {
  const packed = manifest.tables.reduce((sum, { pieces }) => sum + pieces.reduce((all, { bytes }) => all + bytes, 0), 0)
  const needed = (blobs === 'file:' ? manifest.blobs.bytes : 0) + (databaseUrl === null ? 5 * packed : 0)
  let there = dataDir
  while (!existsSync(there)) there = dirname(there)
  const { bavail, bsize } = await statfs(there)
  if (bavail * bsize < needed)
    throw new BackupRefused(
      `not enough disk space for ${dataDir}: ${sizeWords(bavail * bsize)} free, about ${sizeWords(needed)} needed`,
    )
}

/** The keys to install; null if they are already here or not needed. */
function keysFor(
  { key, sealed_values }: Manifest,
  config: Config,
  passphrase: string | null,
  withoutKey: boolean,
): string[] | null {
  const present = new Set(presentKeys(config).map(rootKeyId))
  if (key.ids.length === 0 || key.ids.every((id) => present.has(id))) return null
  if (key.sealed !== null && passphrase !== null) return openKeys(key.sealed, passphrase)
  const lost = Object.entries(sealed_values).map(([column, count]) => `${count} in ${column}`)
  const words = lost.length > 0 ? lost.join(', ') : 'signed links only'
  if (withoutKey) {
    say(
      `Without the root key, encrypted data is lost: ${words}. Signed links stop working. Sessions and API keys still work.`,
    )
    return null
  }
  throw new BackupRefused(
    key.sealed === null
      ? `the root key of this backup isn't on this host (${key.ids[0]}): put it in ${config.dataDir}/secret-key or UK_SECRET_KEY, or add --without-key and lose ${words}`
      : `this backup includes its root key, encrypted with a passphrase: add --passphrase-file or set UK_BACKUP_PASSPHRASE, or add --without-key and lose ${words}`,
  )
}

/** Writes the root key to the data folder, or next to it if the environment sets another one or there are several. */
function keepKeys({ dataDir, secretKeys }: Config, keys: readonly string[]): void {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const path = join(dataDir, 'secret-key')
  const beside = secretKeys.length > 0 || keys.length > 1
  const file = beside ? join(dataDir, 'secret-key.restored') : path
  // Belongs to an instance that never encrypted anything.
  if (!beside && existsSync(path)) renameSync(path, `${path}.before-restore`)
  writeFileSync(`${file}.new`, keys.join(','), { mode: 0o600, flush: true })
  renameSync(`${file}.new`, file)
  say(
    beside
      ? `Wrote the root key to ${file}. Add it to UK_SECRET_KEY, then delete the file.`
      : `Wrote the root key to ${file}.`,
  )
}
