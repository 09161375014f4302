import { checkLive } from '#authz/live.ts'
import type { Context } from '#infra/context.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { cursorOf, pageOf, positionOf } from '#core/paging.ts'
import { admit } from './admit.ts'
import { checkRightsOf } from '../pause.ts'
import { type AutomationRunRow, runStore } from './run-store.ts'
import { giveWayTo, stopRuns } from './stop.ts'
import { type AutomationRow, inactiveReason, automationStore } from '../store.ts'
import type { ChatHandles } from '#modules/chats/service.ts'
import { runEvent, showRun } from './show-run.ts'

interface OneRun {
  id: Id
  runId: Id
}

export async function listRuns(
  ctx: Context,
  place: { automationId: Id } | { workspaceId: Id },
  {
    status,
    cursor,
    limit,
  }: { status?: AutomationRunRow['status'] | undefined; cursor?: string | undefined; limit: number },
) {
  const filters = { place, status }
  const before = (positionOf('automation_runs', filters, cursor)?.[0] as Id) ?? null
  const rows = await runStore.list(ctx.db, { in: place, status, before, limit: limit + 1 })
  return pageOf(rows, limit, ({ id }) => cursorOf('automation_runs', filters, [id]), showRun)
}

/** Resumes an automation paused by an agent change, if the caller has all of its permissions. */
async function resumeAutomation(ctx: Context, automation: AutomationRow): Promise<AutomationRow> {
  await checkRightsOf(ctx, automation)
  if (ctx.agent?.consented === false)
    refuse('consent_required', {
      message:
        automation.paused_reason === 'account_recovered'
          ? 'The automation’s account was recovered by the owner of its email address. A person must resume the automation.'
          : 'The automation’s agent was changed by someone with fewer permissions than its account. A person must resume the automation.',
      details: { endpoint: 'automations.test_fire' },
    })
  const going = { paused_reason: null, paused_at: null }
  await automationStore.update(ctx.db, automation.id, going)
  return { ...automation, ...going }
}

/** Also resumes a paused automation. The overlap policy applies to a run in progress. */
export async function testFire(ctx: Context<ChatHandles>, { id }: { id: Id }) {
  const row = await ctx.transaction(async (ctx) => {
    await checkLive(ctx)
    const current = (await automationStore.lock(ctx.db, id)) ?? refuse('not_found', { param: 'id' })
    const automation = inactiveReason(current) === 'paused' ? await resumeAutomation(ctx, current) : current
    checkActive(automation)
    const firing = {
      automation,
      trigger: 'test' as const,
      at: null,
      webhookId: null,
      payload: null,
      skip: null,
    }
    const { rows, giveWay } = await admit(ctx.db, [firing], ctx.now())
    const [run] = rows
    if (run!.status === 'queued') {
      await automationStore.update(ctx.db, id, { last_fired_at: ctx.now() })
      await ctx.emit(runEvent(run!, 'queued', automation))
    }
    giveWayTo(ctx, giveWay)
    return run!
  })
  ctx.engine.bus.poke('automations')
  return showRun(row)
}

export async function cancelRun(ctx: Context<ChatHandles>, { id, runId }: OneRun) {
  const run = await runOf(ctx, id, runId)
  if (run.status === 'cancelled') return showRun(run)
  if (run.status !== 'queued' && run.status !== 'running') refuseIn(run)
  await stopRuns(ctx.engine, [runId], 'cancelled')
  return showRun(await runOf(ctx, id, runId))
}

export async function retryRun(ctx: Context, { id, runId }: OneRun) {
  const row = await ctx.transaction(async (ctx) => {
    const automation = await automationStore.lock(ctx.db, id)
    await runOf(ctx, id, runId)
    const run = (await runStore.lock(ctx.db, runId))!
    if (!automation) return refuse('not_found', { param: 'id' })
    checkActive(automation)
    if (!['failed', 'timed_out', 'cancelled'].includes(run.status)) refuseIn(run)
    const again = await runStore.update(ctx.db, runId, {
      status: 'queued',
      trigger: 'retry',
      attempt: run.attempt + 1,
      error: null,
      chat_id: null,
      run_id: null,
      operation_id: null,
      started_at: null,
      completed_at: null,
    })
    await ctx.emit(runEvent(again, 'queued', automation))
    return again
  })
  ctx.engine.bus.poke('automations')
  return showRun(row)
}

export function checkActive(automation: AutomationRow): void {
  const status = inactiveReason(automation)
  if (status === null) return
  refuse('invalid_state', {
    message:
      status === 'archived'
        ? 'Archived automations, and automations in archived workspaces, don’t run. Unarchive it first.'
        : 'The automation is paused because its agent was changed by someone with fewer permissions than its account. Its account must resume it.',
    details: { status, allowed: ['unarchive'] },
  })
}

export async function runOf(ctx: Context, automationId: Id, runId: Id): Promise<AutomationRunRow> {
  const run = await runStore.get(ctx.db, runId)
  if (run?.automation_id !== automationId)
    return refuse('not_found', { param: 'runId', message: 'The run doesn’t exist in this automation.' })
  return run
}

const allowedActions: Partial<Record<AutomationRunRow['status'], string[]>> = {
  queued: ['cancel'],
  running: ['cancel'],
  failed: ['retry'],
  timed_out: ['retry'],
  cancelled: ['retry'],
}
const refuseIn = ({ status }: AutomationRunRow): never =>
  refuse('invalid_state', {
    message: `This run’s status is ${status}.`,
    details: { status, allowed: allowedActions[status] ?? [] },
  })
