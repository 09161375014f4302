/** Closes what somebody opened in an account with an address that was not theirs, once its owner has the account. */
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
/** A process that is cut off from the database serves for 5 s more by what it knew. */
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
  // What goes on takes its time to end, and nobody who recovers an account waits for it.
  await ctx.engine.jobs.add(ctx, JOB, { ...asked(accountId, before) })
  // Not of what was there before: its owner may have switched some on again.
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

/** The things that a stranger may have made to read along, and that may as well be the owner's own. */
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

/** The jobs of this file. */
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
