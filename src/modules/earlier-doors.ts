/**
 * Revokes access that a stranger set up in an account with another person's address, once the address's owner
 * recovers the account.
 */
import { sql } from 'kysely'
import type { Engine } from '#infra/context.ts'
import type { JobHandler } from '#infra/jobs/jobs.ts'
import type { Db } from '#infra/postgres/client.ts'
import type { Id } from '#core/ids.ts'
import type { Span } from '#core/time.ts'
import type { EarlierDoors, HasDoors } from './accounts/recovery/doors.ts'
import { disableEndpointsOf } from './ai-gateway/service.ts'
import { pauseAutomationsOf } from './automations/service.ts'
import { endGoalsOf, stopRun, unfinishedRunsOf } from './chats/service.ts'
import { cancelOperation, unfinishedOperationsOf } from './operations/service.ts'
import type { Handles } from './services.ts'
import { disableWebhooksOf } from './webhooks/service.ts'
import { revokeInvitationsOf } from './workspaces/service.ts'

const JOB = 'accounts.close_doors'
/** A process cut off from the database uses cached permissions for 5 s. */
const KNOWN_SECONDS = 5

interface Asked {
  account_id: Id
  from: string
  until: string
}

export const closeEarlierDoors: HasDoors['closeEarlierDoors'] = async (ctx, accountId) => {
  const now = ctx.now()
  const until = new Date(now.getTime() + KNOWN_SECONDS * 1000)
  const before = { from: new Date(0), until: now }
  const closed = await close(ctx.db, accountId, before)
  // Stopping running work takes time that account recovery shouldn't wait for.
  await ctx.engine.jobs.add(ctx, JOB, { ...asked(accountId, before) })
  // Only what was created during the recovery: the owner may have re-enabled earlier things.
  const late = asked(accountId, { from: now, until })
  await ctx.engine.jobs.add(ctx, JOB, { ...late }, { runAt: new Date(until.getTime() + 1_000) })
  return { closed: some(closed), to_review: some(await leftOf(ctx.db, accountId)) }
}

const asked = (accountId: Id, { from, until }: Span): Asked => ({
  account_id: accountId,
  from: from.toISOString(),
  until: until.toISOString(),
})

async function close(db: Db, accountId: Id, made: Span): Promise<EarlierDoors['closed']> {
  return {
    webhooks: await disableWebhooksOf(db, accountId, made),
    provider_endpoints: await disableEndpointsOf(db, accountId, made),
    automations: await pauseAutomationsOf(db, accountId, made),
    invitations: await revokeInvitationsOf(db, accountId, made),
    goals: await endGoalsOf(db, accountId, made),
  }
}

/** Lists things a stranger may have created to read along, but that may also be the owner's. */
async function leftOf(db: Db, accountId: Id): Promise<EarlierDoors['to_review']> {
  const { rows } = await sql<EarlierDoors['to_review']>`
    with own as (select workspace_id as id from members where account_id = ${accountId} and role = 'owner')
    select
      (select count(*)::int from shares where created_by = ${accountId}) as shares,
      (select count(*)::int from members m join own on own.id = m.workspace_id where m.account_id <> ${accountId}) as members,
      (select count(*)::int from computers c join resources r on r.id = c.id join own on own.id = r.workspace_id) as computers,
      (select count(*)::int from agents a join resources r on r.id = a.id join own on own.id = r.workspace_id
        where jsonb_array_length(a.mcp_servers) > 0) as agents_with_servers`.execute(db)
  return rows[0]!
}

const some = (counts: Record<string, number>): Record<string, number> =>
  Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0))

export const doorJobs = (engine: Engine<Handles>): Record<string, JobHandler> => ({
  async [JOB]({ account_id, ...asked }: Asked) {
    const { db } = engine.postgres
    const made = { from: new Date(asked.from), until: new Date(asked.until) }
    if (made.from.getTime() > 0) {
      await db.transaction().execute((tx) => close(tx, account_id, made))
      engine.bus.poke('outbox')
      await engine.rights.refresh()
    }
    for (const id of await unfinishedOperationsOf(db, account_id, made)) await cancelOperation(engine, id)
    for (const { id, chat_id } of await unfinishedRunsOf(db, account_id, made)) await stopRun(engine, chat_id, id)
  },
})
