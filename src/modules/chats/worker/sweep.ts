import type { Engine } from '#infra/context.ts'
import type { Db } from '#infra/postgres/client.ts'
import type { Id } from '#core/ids.ts'
import { startRounds } from '#infra/bus/rounds.ts'
import { claimStore } from '../runs/claim-store.ts'
import { denyExpired } from '../runs/decisions.ts'
import { interrupted, keptOf, logSettledStep } from '../runs/interrupted.ts'
import { type RunRow, approvedCalls, runStore } from '../runs/run-store.ts'
import { chatStore } from '../store.ts'
import { sweepStore } from './sweep-store.ts'
import { type Claim, cancelWaiting, claimNext, endFromOutside } from '../runs/transitions.ts'

const SWEEP_MS = 1_000
/** A run taken over this often probably crashes its servers. */
const MAX_ADOPTIONS = 3

export interface LocalRuns {
  draining(): boolean
  readonly closing: AbortSignal
  has(id: Id): boolean
  ids(): Id[]
  begin(claim: Claim): void
  stop(id: Id): void
  lose(id: Id): void
}

/** Sweeps each second, and when woken, for abandoned runs and for requests to this process's runs. */
export function startSweeping({ postgres: { db }, bus, log, processId }: Engine, local: LocalRuns): AsyncDisposable {
  async function sweep(): Promise<void> {
    if (local.ids().length === 0 && !(await sweepStore.hasUnfinished(db))) return
    for (const id of await sweepStore.toCancel(db, processId)) local.stop(id)
    for (const run of await sweepStore.abandoned(db))
      await inChat(run.chat_id, (tx) => cancelAbandoned(tx, run)).catch(logFailure(run.id))
    for (const id of await sweepStore.lost(db, processId, local.ids())) local.lose(id)
    if (local.draining()) return
    for (const run of await sweepStore.orphans(db, processId))
      if (!local.has(run.id)) await adopt(run).catch(logFailure(run.id))
    for (const run of await sweepStore.expired(db))
      await inChat(run.chat_id, (tx) => expire(tx, run)).catch(logFailure(run.id))
    for (const run of await sweepStore.withFinishedTask(db))
      await inChat(run.chat_id, (tx) => resumeParent(tx, run)).catch(logFailure(run.id))
    for (const chatId of await sweepStore.stalled(db)) {
      const next = await inChat(chatId, (tx) => claimNext(tx, chatId, processId))
      if (next) local.begin(next)
    }
  }
  const logFailure = (runId: Id) => (error: unknown) =>
    log.warn({ error, run: runId }, 'a run cannot be taken over right now')

  /**
   * Restarts the run of a dead process if readers saw nothing, or continues it from saved parts. Otherwise it fails.
   */
  async function adopt(orphan: RunRow): Promise<void> {
    const claim = await inChat(orphan.chat_id, async (tx) => {
      await logSettledStep(tx, orphan)
      const { before, kept, lastSeq } = await keptOf(tx, orphan)
      if (orphan.cancel_requested_at !== null) await endFromOutside(tx, orphan, processId, { status: 'cancelled' })
      else if (kept === null || orphan.adoptions >= MAX_ADOPTIONS)
        await endFromOutside(tx, orphan, processId, { status: 'failed', error: interrupted })
      else {
        const run = await claimStore.takeOver(tx, orphan, processId)
        const output = before && { ...before, content: kept }
        return run && output ? { run, output, events: [], lastSeq } : null
      }
      return claimNext(tx, orphan.chat_id, processId)
    })
    if (claim) local.begin(claim)
    bus.poke('outbox')
  }

  async function expire(tx: Db, { chat_id, id }: RunRow): Promise<void> {
    const run = await runStore.get(tx, chat_id, id)
    if (run?.status === 'requires_action') await denyExpired(tx, run, new Date())
  }

  async function resumeParent(tx: Db, { chat_id, id }: RunRow): Promise<void> {
    const run = await runStore.get(tx, chat_id, id)
    if (run?.status !== 'requires_action') return
    const pending = run.pending_actions.filter(({ kind }) => kind !== 'subagent')
    await runStore.decide(tx, id, { pending, approved: approvedCalls(run) })
  }

  async function cancelAbandoned(tx: Db, { id }: RunRow): Promise<void> {
    const run = await runStore.requestCancel(tx, id)
    if (run?.status === 'running') local.stop(id)
    else if (run) await cancelWaiting(tx, run)
  }

  const inChat = <T>(chatId: Id, work: (tx: Db) => Promise<T>): Promise<T | null> =>
    db.transaction().execute(async (tx) => ((await chatStore.lock(tx, chatId)) === null ? null : work(tx)))

  return startRounds(
    { bus, poke: 'runs', pollMs: SWEEP_MS },
    async () => {
      if (!local.closing.aborted) await sweep()
    },
    (error) => log.warn({ error }, 'runs cannot be swept right now'),
  )
}
