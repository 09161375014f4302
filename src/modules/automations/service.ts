import { checkLive } from '#authz/live.ts'
import type { Context, Engine } from '#infra/context.ts'
import { type Schedule as Job, every } from '#infra/jobs/schedules.ts'
import { lifecycleOf } from '#authz/lifecycle.ts'
import { writeAudit } from '#authz/audit.ts'
import { insertResource, lockResource, updateResource, visibleWorkspaces } from '#authz/resources.ts'
import { newWebhookSecret } from '#core/text/standard-webhooks.ts'
import { hashSecret } from '#authz/api-key.ts'
import { finder } from '#core/context.ts'
import { refuse } from '#core/errors.ts'
import { implementWith } from '#core/implement.ts'
import { type Id, newId } from '#core/ids.ts'
import { nanoOrNull } from '#core/money.ts'
import { cursorOf, pageOf, positionOf } from '#core/paging.ts'
import { behalfOf } from '#core/principal.ts'
import { iso } from '#core/time.ts'
import { automations } from './contract.ts'
import { automationEvent } from './events.ts'
import { fire } from './webhooks/fire.ts'
import { tendRuns } from './runs/outcomes.ts'
import { checkAction } from './check-action.ts'
import { checkRightsOf, hasRightsOf } from './pause.ts'
import { firingsOf } from './schedule/firings.ts'
import { firstTick, scheduleOf } from './schedule/schedule.ts'
import { showAutomation } from './show.ts'
import { giveWayTo, stopRuns } from './runs/stop.ts'
import { runStore } from './runs/run-store.ts'
import { statsOf } from './stats.ts'
import { cancelRun, listRuns, retryRun, runOf, testFire } from './runs/control.ts'
import { type AutomationRow, inactiveReason, automationStore, needsApproval } from './store.ts'
import { newToken } from './webhooks/token.ts'
import { clockOf, fireTicks } from './worker.ts'
import type { ChatHandles } from '#modules/chats/service.ts'
import { showRun, showStats } from './runs/show-run.ts'

export { automationConsumer } from './runs/outcomes.ts'
export { agentChanged, chatChanged, isPausedByAgent, pauseAutomationsOf } from './pause.ts'
export { automationSecrets } from './store.ts'
export { startAutomations } from './worker.ts'

const TEND_SECONDS = 5
/** Per account, including archived ones. */
const MAX_AUTOMATIONS = 1_000
const DAY_SECONDS = 86_400

export const automationSchedules = (engine: Engine<ChatHandles>): Job[] => [
  every('automations.tend', TEND_SECONDS, () => tendRuns(engine)),
  every('automations.retain', DAY_SECONDS, () => runStore.retain(engine.postgres.db)),
]

const automation = finder('automation', async (ctx: Context, id) => (await automationStore.get(ctx.db, id)) ?? null)

const doors = lifecycleOf({
  kind: 'automation',
  read: async (ctx, id) => showAutomation(await loadAutomation(ctx, id)),
})

export const automationService = implementWith<Context<ChatHandles>>()(
  automations,
  {
    async list(ctx, { workspace_id, status, cursor, limit }) {
      const workspaces = visibleWorkspaces(ctx, 'automation:read', workspace_id)
      const filters = { workspace_id, status }
      const before = (positionOf('automations', filters, cursor)?.[0] as Id) ?? null
      const rows = await automationStore.list(ctx.db, { workspaces, status, before, limit: limit + 1 })
      return pageOf(rows, limit, ({ id }) => cursorOf('automations', filters, [id]), showAutomation)
    },

    get: (ctx) => showAutomation(automation.of(ctx)),

    async create(ctx, input) {
      const { kind, schedule, time_zone = 'UTC' } = input
      const workspaceId = ctx.workspace!.id
      if (kind === 'cron' && schedule === undefined)
        refuse('missing_parameter', {
          param: 'schedule',
          message: '`schedule` is required for a scheduled automation.',
        })
      if (kind === 'webhook' && (schedule !== undefined || input.time_zone !== undefined))
        refuse('invalid_parameter', {
          param: 'schedule',
          message: 'Webhook automations have no schedule. Leave out `schedule`.',
        })
      const cron = kind === 'cron' ? { schedule: schedule!, time_zone } : null
      if (cron) scheduleOf(cron.schedule, cron.time_zone)
      await checkAction(ctx, input.action, workspaceId)
      const id = newId()
      const token = kind === 'webhook' ? newToken() : null
      const secret = kind === 'webhook' ? newWebhookSecret() : null
      return ctx.transaction(async (ctx) => {
        await checkRoom(ctx)
        await insertResource(ctx, { id, kind: 'automation', workspace_id: workspaceId })
        await automationStore.insert(ctx.db, {
          id,
          name: input.name,
          kind,
          schedule: schedule ?? null,
          time_zone: kind === 'cron' ? time_zone : null,
          action: input.action,
          overlap: input.overlap,
          catch_up: input.catch_up,
          catch_up_window_seconds: input.catch_up_window_seconds,
          max_cost_nano: nanoOrNull(input.max_cost_usd),
          timeout_seconds: input.timeout_seconds,
          ...behalfOf(ctx.principal),
          next_fire_at: cron && firstTick(cron.schedule, cron.time_zone, await clockOf(ctx.db)),
          token_hash: token === null ? null : hashSecret(token),
          sealed_secret: secret === null ? null : ctx.engine.secrets.seal(secret, id),
        })
        const row = await loadAutomation(ctx, id)
        await ctx.emit(automationEvent(row, 'created'))
        return { ...showAutomation(row), token, secret }
      })
    },

    async update(ctx, { id, ...changes }) {
      const before = automation.of(ctx)
      if (changes.action) await checkAction(ctx, changes.action, before.workspace_id)
      if (before.kind === 'webhook' && (changes.schedule !== undefined || changes.time_zone !== undefined))
        refuse('invalid_parameter', {
          param: 'schedule',
          message: 'Webhook automations have no schedule. Leave out `schedule`.',
        })
      return ctx.transaction(async (ctx) => {
        await checkLive(ctx)
        const current = await lockWithChat(ctx, id)
        const schedule = changes.schedule ?? current.schedule
        const timeZone = changes.time_zone ?? current.time_zone
        const isRescheduled = schedule !== current.schedule || timeZone !== current.time_zone
        // Changing the schedule or the budget of another member's automation could spend their money, so it moves to
        // the caller's account.
        const another =
          current.account_id !== ctx.principal.accountId && (isRescheduled || changes.max_cost_usd !== undefined)
        if (another && !changes.action) await checkAction(ctx, current.action, current.workspace_id)
        const answers = another || changes.action !== undefined
        if (answers && current.account_id !== ctx.principal.accountId) await checkRoom(ctx)
        // Resumes if the caller has its permissions or becomes its account.
        const needsVouching = needsApproval(current)
        const resumes = needsVouching && (answers || (await hasRightsOf(ctx, current)))
        const now = await clockOf(ctx.db)
        if (isRescheduled || resumes) await fireDueTicks(ctx, current, now)
        await updateResource(ctx, id, {})
        await automationStore.update(ctx.db, id, {
          ...(changes.name !== undefined && { name: changes.name }),
          ...(changes.overlap !== undefined && { overlap: changes.overlap }),
          ...(changes.catch_up !== undefined && { catch_up: changes.catch_up }),
          ...(changes.catch_up_window_seconds !== undefined && {
            catch_up_window_seconds: changes.catch_up_window_seconds,
          }),
          ...(changes.timeout_seconds !== undefined && { timeout_seconds: changes.timeout_seconds }),
          ...(changes.max_cost_usd !== undefined && { max_cost_nano: nanoOrNull(changes.max_cost_usd) }),
          // Changing the action moves the automation to the caller's account.
          ...(changes.action !== undefined && { action: JSON.stringify(changes.action) }),
          ...(answers && behalfOf(ctx.principal)),
          ...(resumes && { paused_reason: null, paused_at: null }),
          ...(isRescheduled && {
            schedule,
            time_zone: timeZone,
            next_fire_at: firstTick(schedule!, timeZone!, now),
          }),
        })
        const row = await loadAutomation(ctx, id)
        await ctx.emit(automationEvent(row, 'updated'))
        return showAutomation(row)
      })
    },

    async delete(ctx, { id }) {
      const going = await runStore.busy(ctx.db, [id])
      await stopRuns(ctx.engine, going.get(id) ?? [], 'cancelled')
      await ctx.transaction(async (ctx) => {
        const row = automation.of(ctx)
        await lockWithChat(ctx, id)
        await ctx.db.deleteFrom('resources').where('id', '=', id).execute()
        await writeAudit(ctx, {
          action: 'automation.deleted',
          workspaceId: row.workspace_id,
          subject: { type: 'automation', id },
          details: { name: row.name, kind: row.kind },
        })
        await ctx.emit(automationEvent(row, 'deleted'))
      })
      return { id }
    },

    archive: doors.archive,

    unarchive: (ctx, { id }) =>
      ctx.transaction(async (ctx) => {
        await checkLive(ctx)
        const current = await lockWithChat(ctx, id)
        await checkRightsOf(ctx, current)
        if (inactiveReason(current) !== null) await fireDueTicks(ctx, current, await clockOf(ctx.db))
        await automationStore.update(ctx.db, id, { failures: 0, paused_reason: null, paused_at: null })
        return doors.unarchive(ctx, { id })
      }),

    fire,

    firings: (ctx, { schedule, time_zone, count }) => ({
      id: newId(),
      created_at: iso(ctx.now()),
      schedule,
      time_zone,
      firings: firingsOf(schedule, time_zone, ctx.now(), count),
    }),

    test_fire: testFire,

    async cost_stats(ctx, { id }) {
      const { created_at } = automation.of(ctx)
      const stats = await statsOf(ctx.db, { automationId: id })
      return { id, created_at: iso(created_at), ...showStats(stats.get(id)) }
    },

    async keyed_cost_stats(ctx) {
      const { id } = ctx.workspace!
      const stats = await statsOf(ctx.db, { workspaceId: id })
      return {
        id,
        created_at: iso(ctx.now()),
        automations: Object.fromEntries([...stats].map(([automationId, row]) => [automationId, showStats(row)])),
      }
    },

    run: async (ctx, { id, runId }) => showRun(await runOf(ctx, id, runId)),

    runs: (ctx, { id, ...page }) => listRuns(ctx, { automationId: id }, page),

    workspace_runs: (ctx, { workspace_id, ...page }) => listRuns(ctx, { workspaceId: workspace_id }, page),

    cancel: cancelRun,

    retry: retryRun,

    async rotate_secret(ctx, { id, overlap_seconds }) {
      const row = automation.of(ctx)
      if (row.kind !== 'webhook')
        refuse('invalid_state', { message: 'Only webhook automations have a secret.', details: { kind: row.kind } })
      const token = newToken()
      const secret = newWebhookSecret()
      return ctx.transaction(async (ctx) => {
        const current = await lockWithChat(ctx, id)
        const { secrets } = ctx.engine
        // Knowing the secret allows sending input, so the automation moves to the caller's account.
        const another = current.account_id !== ctx.principal.accountId
        if (another) {
          await checkAction(ctx, current.action, current.workspace_id)
          await checkRoom(ctx)
        }
        const former = {
          id: newId(),
          automation_id: id,
          token_hash: current.token_hash!,
          expires_at: new Date(ctx.now().getTime() + overlap_seconds * 1000),
        }
        const sealed_secret = secrets.seal(secrets.open(current.sealed_secret!, id), former.id)
        await automationStore.retire(ctx.db, id, overlap_seconds === 0 ? null : { ...former, sealed_secret })
        await updateResource(ctx, id, {})
        await automationStore.update(ctx.db, id, {
          token_hash: hashSecret(token),
          sealed_secret: secrets.seal(secret, id),
          ...(another && behalfOf(ctx.principal)),
        })
        await writeAudit(ctx, {
          action: 'automation.secret_rotated',
          workspaceId: current.workspace_id,
          subject: { type: 'automation', id },
          details: { overlap_seconds },
        })
        return { ...showAutomation(await loadAutomation(ctx, id)), token, secret }
      })
    },
  },
  [automation],
)

const loadAutomation = async (ctx: Context, id: Id): Promise<AutomationRow> =>
  (await automationStore.get(ctx.db, id)) ?? refuse('not_found', { param: 'id' })

async function checkRoom(ctx: Context): Promise<void> {
  if ((await automationStore.countForAccount(ctx.db, ctx.principal.accountId)) >= MAX_AUTOMATIONS)
    refuse('limit_reached', {
      message: `An account can have up to ${MAX_AUTOMATIONS} automations. Delete one first.`,
      details: { limit: MAX_AUTOMATIONS },
    })
}

/** Locks the automation's row, then the resource's. Every caller uses this order. */
async function lockWithChat(ctx: Context, id: Id): Promise<AutomationRow> {
  const current = (await automationStore.lock(ctx.db, id)) ?? refuse('not_found', { param: 'id' })
  await lockResource(ctx, 'automation', id)
  return current
}

/** Fires due ticks before the schedule or state changes. */
async function fireDueTicks(ctx: Context<ChatHandles>, current: AutomationRow, now: Date): Promise<void> {
  if (current.next_fire_at === null || current.next_fire_at > now) return
  const { more, giveWay } = await fireTicks(ctx.engine, ctx.db, [current], now)
  if (more)
    refuse('not_ready', { message: 'The automation is still catching up on missed runs. Try again in a few minutes.' })
  ctx.afterCommit(() => {
    ctx.engine.bus.poke('outbox')
    ctx.engine.bus.poke('automations')
  })
  giveWayTo(ctx, giveWay)
}
