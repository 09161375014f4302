/** Tools allowed for the rest of a chat. An approval applies only to runs of the account that gave it. */
import { type Generated, type Selectable, sql } from 'kysely'
import type { z } from 'zod'
import type { Context } from '#infra/context.ts'
import type { Db } from '#infra/postgres/client.ts'
import { refuse } from '#core/errors.ts'
import { type Id, newId } from '#core/ids.ts'
import type { Principal } from '#core/principal.ts'
import { iso } from '#core/time.ts'
import type { Approval } from '../contract-approvals.ts'
import { isWatched } from '../runs/acting.ts'
import type { PendingAction, RunRow } from '../runs/run-store.ts'

declare module '#infra/postgres/tables.ts' {
  interface Database {
    chat_approvals: ApprovalTable
  }
}

interface ApprovalTable {
  id: Id
  chat_id: Id
  account_id: Id
  /** The key that gave the approval, which then covers only its runs; null: given in a session. */
  key_id: Id | null
  agent_id: Id
  agent_version: number
  tool: string
  definition: string | null
  created_at: Generated<Date>
}
export type ApprovalRow = Selectable<ApprovalTable>

/** Valid approvals: an approval ends when its agent's version changes. */
const validApprovals = sql`chat_approvals a join agents g on g.id = a.agent_id and g.version = a.agent_version`

const keyOf = ({ credential }: Principal): Id | null => (credential.kind === 'key' ? credential.id : null)

/**
 * Returns whether the run can use the tool without asking. Only for runs started by a person's message, and only while
 * the tool's definition is unchanged.
 */
export async function isApproved(
  db: Db,
  run: RunRow,
  { name, definition }: { name: string; definition: string | null },
): Promise<boolean> {
  if (!isWatched(run) || run.agent_id === null) return false
  const { rows } = await sql<
    Pick<ApprovalRow, 'id' | 'definition'>
  >`select a.id, a.definition from ${validApprovals} where a.chat_id = ${run.chat_id} and a.account_id = ${run.account_id}
    and a.agent_id = ${run.agent_id} and a.tool = ${name} and (a.key_id is null or a.key_id = ${run.key_id})`.execute(
    db,
  )
  const staleIds = rows.flatMap((row) => (row.definition === definition ? [] : row.id))
  if (staleIds.length > 0) await db.deleteFrom('chat_approvals').where('id', 'in', staleIds).execute()
  return staleIds.length < rows.length
}

export async function approve(ctx: Context, run: RunRow, action: PendingAction, param: string): Promise<void> {
  const { principal, db } = ctx
  if (action.can_remember !== true || run.agent_id === null)
    refuse('invalid_parameter', {
      param,
      message: `\`${action.tool}\` requires approval for every call: the action’s \`can_remember\` is false.`,
    })
  const key = keyOf(principal)
  if (principal.accountId !== run.account_id || (key !== null && key !== run.key_id))
    refuse('consent_required', {
      param,
      message: `\`${action.tool}\` runs with the permissions of the user who sent the message. Only they can allow it for the rest of the chat, signed in or with the API key they sent it with.`,
    })
  await sql`delete from chat_approvals where chat_id = ${run.chat_id} and account_id = ${run.account_id}
    and agent_id = ${run.agent_id} and tool = ${action.tool} and key_id is not distinct from ${key}`.execute(db)
  const { rows } =
    await sql`insert into chat_approvals (id, chat_id, account_id, key_id, agent_id, agent_version, tool, definition)
    select ${newId()}, ${run.chat_id}, ${run.account_id}, ${key}::ulid, id, version, ${action.tool}, ${action.definition ?? null}
      from agents where id = ${run.agent_id} and version = ${action.agent_version ?? null} returning id`.execute(db)
  if (rows.length === 0)
    refuse('invalid_state', {
      param,
      message: `The agent changed since it asked for \`${action.tool}\`, so it can be allowed only once. Decide without \`remember\`.`,
      details: { status: run.status, allowed: ['actions'] },
    })
}

export const showApproval = ({ id, chat_id, agent_id, tool, created_at }: ApprovalRow): z.output<typeof Approval> => ({
  id,
  chat_id,
  agent_id,
  tool,
  created_at: iso(created_at),
})

export const approvals = {
  async list(
    { db, principal }: Context,
    chatId: Id,
    { before, limit }: { before: Id | null; limit: number },
  ): Promise<ApprovalRow[]> {
    const key = keyOf(principal)
    const { rows } = await sql<ApprovalRow>`select a.* from ${validApprovals} where a.chat_id = ${chatId}
      and a.account_id = ${principal.accountId} and (${key}::ulid is null or a.key_id = ${key}::ulid)
      and (${before}::ulid is null or a.id < ${before}::ulid) order by a.id desc limit ${limit}`.execute(db)
    return rows
  },

  /** Deletes any approval of the account: revoking needs no extra permission. */
  async revoke({ db, principal }: Context, chatId: Id, id: Id): Promise<void> {
    const { rows } = await sql`delete from chat_approvals
      where id = ${id} and chat_id = ${chatId} and account_id = ${principal.accountId} returning id`.execute(db)
    if (rows.length === 0)
      refuse('not_found', { param: 'approval_id', message: 'You have no such approval in this chat.' })
  },
}
