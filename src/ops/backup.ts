import about from '../../package.json' with { type: 'json' }
import pg from 'pg'
import { allSealed } from '#modules/sealed.ts'
import { BackupRefused } from '#infra/backup/layout/refused.ts'
import { makeBackup } from '#infra/backup/make.ts'
import { sealKeys } from '#infra/backup/layout/root-keys.ts'
import { openBlobs } from '#infra/blobs/open.ts'
import { attachInstance } from '#infra/postgres/embedded/attach.ts'
import { rootKeyId } from '#infra/secrets.ts'
import { configHere, presentKeys } from './instance.ts'
import { followed, say, sizeWords } from './report.ts'

export interface BackupOptions {
  to: string
  /** Includes the root key, encrypted with this passphrase. */
  passphrase: string | null
  keep: number | null
  json: boolean
}

/** `uk backup`. Returns the exit code: 1 also if stored files are missing, which it lists. */
export async function backup({ to, passphrase, keep, json }: BackupOptions, signal: AbortSignal): Promise<number> {
  const config = configHere()
  const keys = presentKeys(config)
  if (passphrase !== null && keys.length === 0)
    throw new BackupRefused(
      `there is no root key to include: UK_SECRET_KEY isn't set and ${config.dataDir}/secret-key doesn't exist`,
    )
  await using database = await attachInstance(config)
  await using blobs = await openBlobs(config)
  const at = new Date()
  using progress = followed(signal)
  const startedAt = performance.now()
  const { manifest, where, removed, leftOut } = await makeBackup(
    {
      connection: database.connection,
      blobs,
      version: about.version,
      key: { ids: keys.map(rootKeyId), sealed: passphrase === null ? null : sealKeys(keys, passphrase) },
      signWith: keys[0] ?? null,
      sealed: allSealed,
    },
    { to, keep, at },
    progress,
  )
  progress[Symbol.dispose]()
  await remember(database.connection, { at: manifest.at, where, version: about.version })
  const { count, bytes, missing } = manifest.blobs
  const rows = manifest.tables.reduce((sum, table) => sum + table.rows, 0)
  const seconds = (performance.now() - startedAt) / 1000
  if (json)
    process.stdout.write(
      `${JSON.stringify({ backup: where, at: manifest.at, rows, files: count, bytes, missing, root_key: passphrase !== null, removed, left_out: leftOut, seconds })}\n`,
    )
  else {
    if (to !== '-') process.stdout.write(`${where}\n`)
    say(`Backed up ${rows} rows and ${count} files (${sizeWords(bytes)}) in ${seconds.toFixed(1)} s.`)
    if (removed > 0) say(`Deleted ${removed} older ${removed === 1 ? 'backup' : 'backups'}.`)
    if (leftOut.length > 0) say(`Skipped tables of other programs: ${leftOut.map((name) => `"${name}"`).join(', ')}.`)
    if (keys.length === 0)
      say("There is no root key on this host, so the backup isn't signed. Restore it with --unsigned.")
    else if (passphrase === null)
      say(
        config.secretKeys.length > 0
          ? "The backup doesn't include the root key. Store UK_SECRET_KEY somewhere safe, or include it with --with-key."
          : `The backup doesn't include the root key. Store a copy of ${config.dataDir}/secret-key somewhere safe, or include it with --with-key.`,
      )
    else
      say("The backup includes the root key, encrypted with your passphrase. Without the passphrase it can't be read.")
  }
  if (missing.length === 0) return 0
  say(`uk: ${missing.length} stored files are missing or damaged, so they're missing from this backup:`)
  for (const sha256 of missing.slice(0, 20)) say(`  ${sha256}`)
  return 1
}

/** Records the backup for `uk doctor`, which reports its age. */
async function remember(connection: pg.ClientConfig, value: object): Promise<void> {
  const client = new pg.Client(connection)
  client.on('error', () => {})
  await client.connect()
  try {
    await client.query(
      `insert into instance (name, value) values ('backup', $1::jsonb) on conflict (name) do update set value = excluded.value`,
      [JSON.stringify(value)],
    )
  } finally {
    await client.end()
  }
}
