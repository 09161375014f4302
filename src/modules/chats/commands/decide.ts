import type { Context } from '#infra/context.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { hasScope } from '#core/principal.ts'
import { writeAudit } from '#authz/audit.ts'
import { approve } from '../approvals/approvals.ts'
import { type Decision, decideCalls } from '../runs/decisions.ts'
import { type RunRow, allowedMoves, runStore } from '../runs/run-store.ts'
import type { ChatHandles } from '../worker/runs.ts'
import { claimNext } from '../runs/transitions.ts'
import { lockActiveChat } from '../lock.ts'
import { chatStore } from '../store.ts'

export async function decide(
  outer: Context<ChatHandles>,
  chatId: Id,
  runId: Id,
  decisions: readonly Decision[],
): Promise<RunRow> {
  const { engine } = outer
  const { runs } = engine
  return outer.transaction(async (ctx) => {
    await lockActiveChat(ctx, chatId)
    const run =
      (await runStore.get(ctx.db, chatId, runId)) ??
      refuse('not_found', { param: 'run_id', message: 'The run doesn’t exist in this chat.' })
    if (run.status !== 'requires_action')
      return refuse('invalid_state', {
        message: `The run isn’t waiting for a decision. Its status is ${run.status}.`,
        details: { status: run.status, allowed: allowedMoves(run) },
      })
    for (const decision of decisions) checkDecider(ctx, run, decision)
    const all = [...decisions, ...(await remember(ctx, run, decisions))]
    const decidedRun = await decideCalls(ctx.db, run, all)
    await auditAllowed(ctx, run, all)
    if (decidedRun.status !== 'queued' || runs.draining) return decidedRun
    const claimed = await claimNext(ctx.db, chatId, engine.processId)
    if (claimed) ctx.afterCommit(() => runs.begin(claimed))
    return claimed?.run ?? decidedRun
  })
}

/** Audits who allowed which call. Temporary chats are kept out of the workspace's log. */
async function auditAllowed(ctx: Context, run: RunRow, decisions: readonly Decision[]): Promise<void> {
  const allowed = decisions.filter(({ decision, output }) => decision === 'allow' && output === undefined)
  if (allowed.length === 0) return
  const workspaceId = (await chatStore.isTemporary(ctx.db, run.chat_id)) ? null : run.workspace_id
  for (const { id, remember } of allowed) {
    const { tool, kind } = run.pending_actions.find((one) => one.id === id)!
    await writeAudit(ctx, {
      action: 'tool_call.allowed',
      workspaceId,
      subject: { type: 'run', id: run.id },
      details: {
        chat_id: run.chat_id,
        agent_id: run.agent_id,
        account_id: run.account_id,
        tool,
        kind,
        tool_call_id: id,
        remember: remember ?? null,
      },
    })
  }
}

/** Saves remembered approvals. Returns decisions for the run's other pending calls of these tools. */
async function remember(ctx: Context, run: RunRow, decisions: readonly Decision[]): Promise<Decision[]> {
  const tools = new Set<string>()
  for (const [i, { id, decision, output, remember }] of decisions.entries()) {
    const action = run.pending_actions.find((one) => one.id === id)
    if (remember === undefined || action === undefined) continue
    const param = `actions.${i}.remember`
    if (decision !== 'allow' || output !== undefined)
      refuse('invalid_parameter', { param, message: 'Only an allowed call can be remembered.' })
    await approve(ctx, run, action, param)
    tools.add(action.tool)
  }
  return run.pending_actions
    .filter(({ id, tool, can_remember }) => can_remember && tools.has(tool) && !decisions.some((one) => one.id === id))
    .map(({ id }) => ({ id, decision: 'allow' }))
}

/**
 * Calls that need consent act for the run's sender, so only the sender can allow them, in a session or with a key that
 * could make the call.
 * Everyone who can run the chat can deny them.
 */
function checkDecider({ engine, principal }: Context<ChatHandles>, run: RunRow, { id, decision }: Decision): void {
  const action = run.pending_actions.find((one) => one.id === id)
  const consent = action && engine.toolbox.reach(action.tool, {})?.consent
  if (!consent || decision !== 'allow') return
  if (principal.accountId !== run.account_id)
    refuse('consent_required', {
      message: `\`${action.tool}\` runs with the permissions of the user who sent the message. Only they can allow it.`,
      details: { endpoint: action.tool },
    })
  if (consent.scope !== null && !hasScope(principal, consent.scope))
    refuse('missing_scope', {
      message: `The key is missing the scope \`${consent.scope}\`, which the approved call requires.`,
      details: { required_scope: consent.scope },
    })
}
