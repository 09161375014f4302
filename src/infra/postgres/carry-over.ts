import type pg from 'pg'
import { StartRefused } from '../start-refused.ts'

/** The last commit whose migrations are those below. */
const LAST = 'fb32076'

/** The migrations that a database had before they became one file per subject. */
export const beforeSquash: readonly string[] = `
  0001-foundation 0002-ledger 0003-agents 0003-invitations 0004-provider-endpoints 0005-chats 0006-data-policy
  0006-settle-batch 0007-budgets-and-usage 0008-drive 0009-search 0010-realtime 0011-notifications 0012-automations
  0013-shares 0014-goals 0016-email-confirmations 0016-webhooks 0017-interrupted-calls-and-catalogue 0018-drive-links
  0018-upload-metadata 0019-search-rows 0024-tools-in-runs 0029-search-passages 0030-automation-secrets
  0031-actions-expire 0032-budgets-and-subagents 0033-outside-tools 0036-cheaper-calls 0037-ids-find-their-index
  0038-automations-waiting 0039-webhook-secrets 0040-search-narrow 0042-claimed-pushes 0043-unguarded-cost
  0044-planned-once 0045-reserved-at-once 0046-payer-error 0047-automation-starts 0048-slow-documents
  0049-thumbnail-makers 0050-operations-of-chats 0051-answering-for-webhooks 0052-promised-credits 0055-tools-set-by
  0056-automations-paused-by-a-change 0057-consents-used 0060-kept-items 0068-named-models
  0069-kept-items-by-workspace
`
  .trim()
  .split(/\s+/)
  .map((name) => `${name}.sql`)

/** Today's names of the migrations that make the same. */
const now = [
  '0001-accounts',
  '0002-workspaces',
  '0003-resources',
  '0004-outbox',
  '0005-operations',
  '0006-ledger',
  '0007-providers',
  '0008-agents',
  '0009-chats',
  '0010-drive',
  '0011-search',
  '0012-notifications',
  '0013-automations',
  '0014-webhooks',
].map((name) => `${name}.sql`)

/**
 * A database from before the squash has the same tables under other names of migrations: they are renamed, here and in
 * `done`. The functions that were made with the tables go: the ledger's stand in a schema of their own. Refused while a
 * program from before runs on it.
 */
export async function carryOver(client: pg.ClientBase, done: Set<string>): Promise<void> {
  const old = beforeSquash.filter((name) => done.has(name))
  if (old.length === 0) return
  if (old.length < beforeSquash.length)
    throw new StartRefused(
      `the database stopped at migration ${old.at(-1)!}, of a Ukiyo from before 0.1.0: start the commit ${LAST} on it once, which brings it further, then this one`,
    )
  // Its capped calls would fail for want of the functions that go here.
  const { rowCount } = await client.query('select from processes where expires_at > now()')
  if (rowCount! > 0)
    throw new StartRefused(
      'a Ukiyo from before 0.1.0 is running on this database, or was killed in the last half minute: stop it, and start this one then',
    )
  await client.query(`
    drop function if exists reserve_calls, reserved_calls, settle_batch, settle_calls, reconcile_calls, periods_of;
    drop type if exists settled_call;
    alter table automation_runs validate constraint automation_runs_skip_reason_check`)
  await client.query('delete from migrations where name = any($1)', [beforeSquash])
  await client.query('insert into migrations (name) select unnest($1::text[])', [now])
  for (const name of beforeSquash) done.delete(name)
  for (const name of now) done.add(name)
}
