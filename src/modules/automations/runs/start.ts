import { setTimeout as sleep } from 'node:timers/promises'
import {
  type ChatHandles,
  type NewChat,
  type NewChatPermit,
  bulkCreate,
  permitNewChat,
} from '#modules/chats/service.ts'
import { type AgentRow, agentsById } from '#modules/agents/service.ts'
import type { Context, Engine } from '#infra/context.ts'
import { writeOutboxEach } from '#infra/outbox/outbox.ts'
import type { Db } from '#infra/postgres/client.ts'
import { Refusal, errorBody } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { actorOf } from '#core/principal.ts'
import { end } from './end.ts'
import { ownerOf, skipInactive, promptOf } from './launch.ts'
import { type AutomationRunRow, runStore } from './run-store.ts'
import { type AutomationRow, inactiveReason, automationStore } from '../store.ts'
import { runEvent } from './show-run.ts'

/** Limits per transaction. Each workspace gets its share, however long its queue is. */
const AT_ONCE = 200
const WORKSPACES = 100
/** Chat runs per process. Beyond this, queued runs are left to other processes. */
const MAX_GOING = 5_000
/** Total characters of their prompts. A longer run is started alone. */
const MAX_CHARACTERS = 4_000_000
/** Time limit for permission checks, so that an owner's slow provider doesn't delay others. */
const JUDGED_MS = 1_000

export interface StartResult {
  /** Runs started, ended or in `alone`. */
  lockedCount: number
  /** Runs to start one by one: commands, existing chats, or after an error in the batch. */
  alone: Id[]
  /** Start of the next scan. Null: the scan is complete. */
  after: Id | null
}

export interface StartOptions {
  after: Id | null
  but: ReadonlySet<Id>
  signal: AbortSignal
}

/**
 * Starts queued runs in one transaction with their chats and messages, so a crash leaves nothing half done. Permissions
 * are checked before locking, because that takes connections and provider requests. A refusal fails only that run.
 */
export async function startSome(
  engine: Engine<ChatHandles>,
  { after, but, signal }: StartOptions,
): Promise<StartResult> {
  const { db } = engine.postgres
  const { runs } = engine
  const room = Math.min(AT_ONCE, MAX_GOING - runs.going)
  const places = room <= 0 || runs.draining ? [] : await runStore.waitingIn(db, after, WORKSPACES)
  const next = places.length === WORKSPACES ? places.at(-1)! : null
  if (places.length === 0) return { lockedCount: 0, alone: [], after: null }
  let lockedIds: Id[] = []
  try {
    const ready = await runStore.ready(db, places, { each: Math.ceil(room / places.length), but: [...but] })
    const judge = await judging(engine, ready, signal)
    const { alone, begin } = await db.transaction().execute(async (tx) => {
      lockedIds = await runStore.lockEach(tx, ready)
      return lockedIds.length === 0 ? { alone: [], begin: null } : beginAll(engine, tx, lockedIds, judge)
    })
    begin?.()
    if (lockedIds.length > 0) engine.bus.poke('outbox')
    return { lockedCount: lockedIds.length, alone, after: next }
  } catch (error) {
    engine.log.warn({ error }, 'automation runs could not be started in a batch and are started individually')
    return { lockedCount: lockedIds.length, alone: lockedIds, after: next }
  }
}

async function beginAll(engine: Engine<ChatHandles>, db: Db, runIds: readonly Id[], judge: Judge) {
  const rows = await runStore.stillReady(db, runIds)
  const automations = await automationStore.some(db, [...new Set(rows.map(({ automation_id }) => automation_id))])
  const alone: Id[] = []
  let characters = 0
  const newChats: (NewChat & { run: AutomationRunRow; automation: AutomationRow })[] = []
  for (const run of rows) {
    const automation = automations.get(run.automation_id)!
    const { action } = automation
    characters += action.type === 'agent' ? action.prompt.length + (run.payload?.length ?? 0) : 0
    const permit = action.type === 'agent' && action.chat_id === null ? judge(automation, action.agent_id) : undefined
    const asleep = inactiveReason(automation)
    if (asleep !== null) await skipInactive(db, run, asleep)
    else if (action.type === 'command' || permit === undefined || characters > MAX_CHARACTERS) alone.push(run.id)
    else
      try {
        newChats.push({
          run,
          automation,
          permit: await permit,
          title: automation.name,
          text: promptOf(action.prompt, run),
          automationId: automation.id,
          automationRunId: run.id,
          budget: automation.max_cost_nano,
        })
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
        await end(db, run, { status: 'failed', error: errorBody(error).error, cost: null })
      }
  }
  if (newChats.length === 0) return { alone, begin: null }
  const createdChats = await bulkCreate(engine, db, newChats)
  const startedRuns = newChats.map(({ run }, i) => ({
    id: run.id,
    chat_id: createdChats.runs[i]!.chat_id,
    run_id: createdChats.runs[i]!.id,
  }))
  await runStore.begin(db, startedRuns)
  await writeOutboxEach(
    db,
    newChats.map(({ run, automation, permit: { ctx } }, i) => ({
      event: runEvent({ ...run, ...startedRuns[i]!, status: 'running', error: null }, 'started', automation),
      actor: { ...actorOf(ctx.principal), run_id: startedRuns[i]!.run_id, automation_id: automation.id },
    })),
  )
  return { alone, begin: createdChats.begin }
}

/** Whether the owner may open a chat with the agent. Undefined: not known yet. */
type Judge = (automation: AutomationRow, agentId: Id) => Promise<NewChatPermit> | undefined

async function judging(engine: Engine<ChatHandles>, runIds: readonly Id[], signal: AbortSignal): Promise<Judge> {
  const { db } = engine.postgres
  const automations = (await automationStore.ofRuns(db, runIds)).filter(
    (automation) => inactiveReason(automation) === null,
  )
  const agentIds = automations.flatMap(({ action }) => (action.type === 'agent' ? [action.agent_id] : []))
  const agents: ReadonlyMap<Id, AgentRow> = await agentsById(db, [...new Set(agentIds)])
  const callers = new Map<string, Promise<Context<ChatHandles>>>()
  const permits = new Map<string, Promise<NewChatPermit>>()
  const settledPermits = new Map<string, Promise<NewChatPermit>>()
  for (const automation of automations) {
    const { action, workspace_id } = automation
    if (action.type !== 'agent' || action.chat_id !== null) continue
    const key = permitKeyOf(automation, action.agent_id)
    if (permits.has(key)) continue
    const who = ownerIn(automation)
    const caller = callers.get(who) ?? ownerOf(engine, automation, signal)
    callers.set(who, caller)
    const permit = caller.then((ctx) => permitNewChat(ctx, workspace_id, agents.get(action.agent_id)))
    permits.set(key, permit)
    const keep = (): void => void settledPermits.set(key, permit)
    permit.then(keep, keep)
  }
  await Promise.race([Promise.allSettled(permits.values()), sleep(JUDGED_MS, undefined, { ref: false })])
  return (automation, agentId) => settledPermits.get(permitKeyOf(automation, agentId))
}

const ownerIn = ({ account_id, scopes, held_to, key_id }: AutomationRow): string =>
  JSON.stringify([account_id, scopes, held_to, key_id])
const permitKeyOf = (automation: AutomationRow, agentId: Id): string =>
  JSON.stringify([ownerIn(automation), automation.workspace_id, agentId])
