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

export interface RestoreAsked {
  from: string
  passphrase: string | null
  /** Goes on although nobody can read what is sealed. */
  withoutKey: boolean
  /** Restores a backup that has no signature. */
  unsigned: boolean
  /** Goes on with what was under way when the backup was made. */
  resume: boolean
  /** Verifies all bytes, loads the rows into a database that nobody keeps, and says what would be restored. */
  dryRun: boolean
  json: boolean
}

/** `uk restore`. No row is written before all of the backup was held against its hashes. */
export async function restore(
  { from, passphrase, withoutKey, unsigned, resume, dryRun, json }: RestoreAsked,
  signal: AbortSignal,
): Promise<number> {
  const config = configHere()
  await using source = await openSource(from)
  const { manifest } = source
  checkMigrations(manifest)
  using progress = followed(signal)
  const began = performance.now()
  const keys = dryRun && passphrase === null ? null : keysFor(manifest, config, passphrase, withoutKey)
  const signed = checkSignature(source, [...(keys ?? []), ...presentKeys(config)], { dryRun, withoutKey, unsigned })
  // The bytes of files are held against their hashes as they are brought: read once, not twice.
  const listed = await (dryRun ? verify : verifyDatabase)(source, progress)
  progress[Symbol.dispose]()
  const rows = manifest.tables.reduce((sum, table) => sum + table.rows, 0)
  if (dryRun) await tryDatabase(source, listed, resume, progress)
  progress[Symbol.dispose]()
  const what = `${rows} rows and ${listed.length} files (${sizeWords(manifest.blobs.bytes)}) of ${manifest.at}, by Ukiyo ${manifest.version}`
  if (dryRun) {
    if (json)
      process.stdout.write(
        `${JSON.stringify({ backup: source.path, at: manifest.at, rows, files: listed.length, bytes: manifest.blobs.bytes, whole: true, signed, root_key: manifest.key.sealed !== null })}\n`,
      )
    else say(`${source.path} is whole and can be restored: ${what}. Nothing was changed.`)
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
        // Kept before the rows are: a restore that is cut off between them is begun again with the key in place.
        if (keys !== null) keepKeys(config, keys)
      },
    },
    progress,
  )
  progress[Symbol.dispose]()
  const seconds = (performance.now() - began) / 1000
  if (json)
    process.stdout.write(
      `${JSON.stringify({ backup: source.path, at: manifest.at, rows, files: listed.length, bytes: manifest.blobs.bytes, settled, seconds })}\n`,
    )
  else {
    say(`Restored ${what} in ${seconds.toFixed(1)} s.`)
    if (settled.length > 0) say('Not gone on with, since the instance of the backup may have done it:')
    for (const { what, count } of settled) say(`  ${count} ${what}`)
    if (manifest.blobs.missing.length > 0)
      say(`${manifest.blobs.missing.length} files had lost their bytes before the backup was made.`)
  }
  return 0
}

/** Loads the rows into a PostgreSQL of this machine that is removed again. */
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
 * Refuses a backup that the holder of this instance's root key didn't write. What it says else comes from whoever can write where it
 * was stored: accounts, passwords, administrators. Answers whether the signature holds.
 */
function checkSignature(
  source: Source,
  rootKeys: readonly string[],
  { dryRun, withoutKey, unsigned }: Pick<RestoreAsked, 'dryRun' | 'withoutKey' | 'unsigned'>,
): boolean {
  const verdict = source.judge(rootKeys)
  if (verdict === 'valid') return true
  if (verdict === 'wrong')
    throw new BackupRefused(
      `${source.path} was changed after it was made: the signature doesn't match its manifest. Restore another backup`,
    )
  if (verdict === 'unsigned') {
    if (!unsigned)
      throw new BackupRefused(
        `${source.path} has no signature: an older version made it, or someone changed it. If only you can write to the place where it was stored, restore it with --unsigned`,
      )
    say('The backup has no signature, so nothing shows whether someone changed it.')
  } else if (dryRun || withoutKey) say('The signature can’t be checked here, because its root key isn’t on this host.')
  else
    throw new BackupRefused(
      `${source.path} was signed with another root key than those of its secrets: restore another backup`,
    )
  return false
}

/** Room for the bytes and for a database several times the size of its compressed copy. */
async function checkRoom({ dataDir, databaseUrl, blobs }: Config, manifest: Manifest): Promise<void> {
  const packed = manifest.tables.reduce((sum, { pieces }) => sum + pieces.reduce((all, { bytes }) => all + bytes, 0), 0)
  const needed = (blobs === 'file:' ? manifest.blobs.bytes : 0) + (databaseUrl === null ? 5 * packed : 0)
  let there = dataDir
  while (!existsSync(there)) there = dirname(there)
  const { bavail, bsize } = await statfs(there)
  if (bavail * bsize < needed)
    throw new BackupRefused(
      `the disk that holds ${dataDir} has ${sizeWords(bavail * bsize)} left, and this backup needs about ${sizeWords(needed)}`,
    )
}

/** The keys to be put in place: null where those of this backup are here already, or are done without. */
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
  const words = lost.length > 0 ? lost.join(', ') : 'signed links, and nothing else'
  if (withoutKey) {
    say(
      `Without its root key nobody reads what is sealed: ${words}. Signed links end too; sessions and API keys go on.`,
    )
    return null
  }
  throw new BackupRefused(
    key.sealed === null
      ? `the root key of this backup is not here (${key.ids[0]}): put it in ${config.dataDir}/secret-key or UK_SECRET_KEY, or give --without-key and lose ${words}`
      : `the root key of this backup lies in it under a passphrase: give --passphrase-file or UK_BACKUP_PASSPHRASE, or --without-key and lose ${words}`,
  )
}

/**
 * Keeps the root key in the data dir, where the server finds it; beside it, where the environment has another one or
 * there are several.
 */
function keepKeys({ dataDir, secretKeys }: Config, keys: readonly string[]): void {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const path = join(dataDir, 'secret-key')
  const beside = secretKeys.length > 0 || keys.length > 1
  const file = beside ? join(dataDir, 'secret-key.restored') : path
  // That of an instance which had nothing to seal with it.
  if (!beside && existsSync(path)) renameSync(path, `${path}.before-restore`)
  writeFileSync(`${file}.new`, keys.join(','), { mode: 0o600, flush: true })
  renameSync(`${file}.new`, file)
  say(
    beside
      ? `The root key was put in ${file}: add it to UK_SECRET_KEY, and remove the file.`
      : `The root key was put in ${file}.`,
  )
}
