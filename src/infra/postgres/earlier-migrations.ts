/**
 * Databases from before the first release. Their migrations were folded into one file per subject, which makes the same
 * schema. Such a database runs what it lacks of the old migrations, and then counts as migrated by the new ones.
 */
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type pg from 'pg'
import { StartRefused } from '../start-refused.ts'

/** The last commit that brings older databases to `required`. */
const LAST_COMMIT = '1c80fa48'
/** Where the old migrations after `required` are kept. They have run on some databases and not on others. */
const folder = join(import.meta.dirname, 'earlier-migrations')
const optional: readonly string[] = readdirSync(folder).toSorted()

const required: readonly string[] = `
  0001-accounts 0002-workspaces 0003-resources 0004-outbox 0005-operations 0006-ledger 0007-providers 0008-agents
  0009-chats 0010-drive 0011-search 0012-notifications 0013-automations 0014-webhooks 0140-who-acted
  0141-model-requests 0151-computers 0152-commands-of-automations 0160-peers 0165-ports 0170-local-models
  0175-deleted-runs 0176-cloud-computers 0183-snapshots-under-way 0198-vouched-computers
  0199-outliving-reservations 0200-media-jobs 0205-units-of-media 0206-speed-of-speech 0210-commands-under-way
  0215-disks-of-computers 0216-provider-connections 0217-connections-of-older-servers 0218-links-of-invitations
  0219-rules-of-members 0220-requests-for-credits 0223-pins-of-chats 0224-lost-links 0227-request-log
  0228-connections-go-with-endpoints 0229-imported-chats 0230-ways-in 0231-pushes-of-sessions 0232-given-shares
  0233-sherpa 0234-temporary-chats 0235-approvals 0236-requests-in-calls 0240-doors-of-recovered-accounts
  0241-open-stdins 0242-pushes-of-keys 0243-latest-files 0244-order-of-asking 0250-definitions-of-approved-tools
`
  .trim()
  .split(/\s+/)
  .map((name) => `${name}.sql`)

/** The names of the old migrations. */
export const earlierMigrations: readonly string[] = [...required, ...optional]

/** The migrations that make the schema of all old ones. */
export const foldedMigrations: readonly string[] = `
  0001_accounts 0002_workspaces 0003_resources 0004_events 0005_operations 0006_ledger 0007_providers 0008_agents
  0009_chats 0010_drive 0011_search 0012_notifications 0013_automations 0014_webhooks 0015_computers 0016_media
`
  .trim()
  .split(/\s+/)
  .map((name) => `${name}.sql`)

/** The newest of the old migrations in a database that lacks some that can't be run here. Null: it lacks none of them. */
export function stoppedAt(names: ReadonlySet<string>): string | null {
  const earlier = earlierMigrations.filter((name) => names.has(name))
  return earlier.length === 0 || required.every((name) => names.has(name)) ? null : earlier.at(-1)!
}

/** What to do with a database or a backup that stopped too early. */
export const tooOld = (name: string): string =>
  `stopped at migration ${name}, from before the first release: start the commit ${LAST_COMMIT} on it once, then this version`

/**
 * Runs the old migrations that the database lacks, and renames those it has, in the database and in `done`.
 *
 * @throws {StartRefused} It lacks some that only an older program has.
 */
export async function replaceEarlier(client: pg.ClientBase, done: Set<string>): Promise<void> {
  const stopped = stoppedAt(done)
  if (stopped !== null) throw new StartRefused(`the database ${tooOld(stopped)}`)
  if (!earlierMigrations.some((name) => done.has(name))) return
  for (const name of optional) if (!done.has(name)) await client.query(readFileSync(join(folder, name), 'utf8'))
  await client.query('delete from migrations where name = any($1)', [earlierMigrations])
  await client.query('insert into migrations (name) select unnest($1::text[])', [foldedMigrations])
  for (const name of earlierMigrations) done.delete(name)
  for (const name of foldedMigrations) done.add(name)
}
