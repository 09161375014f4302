import { setTimeout as sleep } from 'node:timers/promises'
import type { Context, Engine } from '#infra/context.ts'
import { sqlState } from '#infra/postgres/client.ts'
import { asCaller } from '#infra/postgres/fair/callers.ts'
import { Refusal, errorBody } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { claimStore } from '../runs/claim-store.ts'
import type { ChatBatches } from './chat-batches.ts'
import { type EventWriter, createEventWriter } from './event-writer.ts'
import { createFinisher } from './finish.ts'
import { generate } from '../agent/generate.ts'
import type { AgentHandles } from '../agent/tools/handles.ts'
import type { Delegate } from '../agent/tools/toolset.ts'
import { HAND_OVER, STOPPED } from '../runs/abort-reasons.ts'
import { interrupted, keptOf } from '../runs/interrupted.ts'
import { messageStore } from '../messages/message-store.ts'
import { RunLog } from './run-log.ts'
import { type RunRow, runStore } from '../runs/run-store.ts'
import { stepStore } from '../runs/step-store.ts'
import { startSweeping } from './sweep.ts'
import { RunWatch } from './run-watch.ts'
import { chatStore } from '../store.ts'
import { type Claim, type Ending, cancelWaiting, pause } from '../runs/transitions.ts'
import { addUsage } from '#core/usage.ts'

const AGAIN_MS = 500
const HAND_OVER_MS = 5_000

/** The runs of this process. A run belongs to the server: whoever reads it may come and go. */
export interface Runs extends AsyncDisposable {
  /** The server is stopping: a run accepted now waits for another process. */
  readonly draining: boolean
  /** The number of runs that go on here. */
  readonly going: number
  /** Fires when nothing more happens here: whoever waits, waits in vain. */
  readonly closing: AbortSignal
  readonly watch: RunWatch
  /** The log of a run that this process runs. */
  live(runId: Id): RunLog | undefined
  /** Runs what this process has claimed; call it once the claim is durable. */
  begin(claim: Claim): void
  /** Stops these where they run, whichever process that is. */
  stop(runIds: readonly Id[]): void
  /** Says that a run waits whose turn it may be. */
  wake(): void
  /** Lets runs come to their end for so long, then hands them over or ends them. */
  drain(seconds: number): Promise<void>
}

interface Active {
  claim: Claim
  log: RunLog
  stop: AbortController
  done: Promise<void>
}

export interface HasRuns {
  runs: Runs
}
/** The handles by which chats use other areas, with the runs of this process. */
export interface ChatHandles extends AgentHandles, HasRuns {
  chatBatches: ChatBatches
  /** Pauses what speaks in a chat whose agent the caller changes. Automations have it. */
  chatChanged(ctx: Context, chatId: Id): Promise<void>
}

/** Takes part in running the chats of this database. */
export function startRuns(engine: Engine<AgentHandles>, delegate: Delegate): Runs {
  const { postgres, bus, log } = engine
  const { db } = postgres
  const active = new Map<Id, Active>()
  const writer: EventWriter = createEventWriter({ postgres: postgres.forServer, log })
  const watch = new RunWatch(postgres.forServer, log)
  const written = createFinisher(engine)
  let draining = false
  const closing = new AbortController()

  function begin(claim: Claim): void {
    const { run, lastSeq, events } = claim
    const runLog = new RunLog(run.id, run.fence, lastSeq, events)
    const stop = new AbortController()
    const entry: Active = { claim, log: runLog, stop, done: Promise.resolve() }
    active.set(run.id, entry)
    const caller = { name: run.account_id, signal: null, reads: false }
    entry.done = asCaller(caller, () => carryOut(entry))
      .catch((error: unknown) => log.error({ error, run: run.id }, 'a run was left unfinished'))
      .finally(() => {
        active.delete(run.id)
        runLog.tail.end()
      })
  }

  async function carryOut({ claim, log: runLog, stop }: Active): Promise<void> {
    const signal = AbortSignal.any([stop.signal, runLog.lost])
    const ending = await generate(engine, claim, signal, {
      tell(facts) {
        writer.append(runLog, facts)
        return writer.room(runLog)
      },
      told: () => writer.flushed(runLog),
      delegate,
    })
    // Settled before a step says so: a step without its line in the books would be a cost that nobody paid.
    await Promise.all([writer.flushed(runLog), durably(() => engine.ledger.flush())])
    if (runLog.lost.aborted) return
    if (ending.status === 'requires_action') return await durably(() => rest(claim.run, ending, runLog))
    const handedOver = ending.status === 'cancelled' && stop.signal.reason === HAND_OVER
    if (handedOver && (await durably(() => release(claim.run, ending)))) return
    const final: Ending = handedOver ? { ...ending, status: 'failed', error: interrupted } : ending
    try {
      await durably(() => finish(claim.run, final, runLog))
    } catch (error) {
      if (!isUnstorable(error)) throw error
      log.error({ error, run: claim.run.id }, 'a run’s result cannot be written')
      await durably(() => finish(claim.run, withoutFigures(final), runLog))
    }
  }

  /** Writes the end, gives the turn to whoever waits, and only then shows it. */
  async function finish(run: RunRow, ending: Ending, runLog: RunLog): Promise<void> {
    const done = await written({ run, ending, lastSeq: runLog.lastSeq, handOn: !draining })
    if (done === null) return
    runLog.tail.push(done.ended.events)
    bus.poke('outbox')
    if (done.next) begin(done.next)
    // The run that handed this on may be waiting elsewhere, and what this has handed on is no longer wanted.
    if ((done.next === null && draining) || run.parent_call !== null || ending.status !== 'completed') bus.poke('runs')
  }

  /** Lets the run rest until a person has decided: nobody runs it meanwhile. */
  async function rest(run: RunRow, left: Parameters<typeof pause>[2], runLog: RunLog): Promise<void> {
    const events = await db.transaction().execute(async (tx) => {
      if ((await chatStore.lock(tx, run.chat_id)) === null) return null
      // Asked to stop while it came to rest: it has ended rather than waits.
      const now = await runStore.get(tx, run.chat_id, run.id)
      const paused = await pause(tx, run, left, runLog.lastSeq)
      if (paused && now?.cancel_requested_at) await cancelWaiting(tx, (await runStore.get(tx, run.chat_id, run.id))!)
      return paused
    })
    if (events) runLog.tail.push(events)
    bus.poke('outbox')
  }

  /** Releases a run for another process, with what it has used; false when nobody can go on from where it is. */
  async function release(run: RunRow, { step, model, provider, usage, cost, before = null }: Ending): Promise<boolean> {
    const released = await db.transaction().execute(async (tx) => {
      if ((await chatStore.lock(tx, run.chat_id)) === null) return true
      const { kept } = await keptOf(tx, run)
      if (kept === null) return false
      const used = step && provider !== null && model !== null
      if (used && !(await claimStore.keep(tx, run, { usage: addUsage(run.usage, usage), cost }))) return true
      if (used) await stepStore.insert(tx, run, step)
      if (!(await claimStore.release(tx, run))) return true
      const served = used && { served: { model, provider, usage: addUsage(before, usage), cost } }
      await messageStore.keep(tx, run.output_message_id, { content: kept, ...served })
      await messageStore.setStatus(tx, run.output_message_id, 'queued')
      return true
    })
    bus.poke('runs')
    return released
  }

  /**
   * Repeats a write until the database takes it: a run without an end would hold up its chat. Throws where it never
   * will.
   */
  async function durably<T>(write: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await write()
      } catch (error) {
        if (closing.signal.aborted || isUnstorable(error)) throw error
        log.warn({ error }, 'a run’s result cannot be written right now')
        await sleep(AGAIN_MS)
      }
    }
  }

  const allDone = () => Promise.all([...active.values()].map(({ done }) => done))

  const sweeping = startSweeping(engine, {
    closing: closing.signal,
    get draining() {
      return draining
    },
    has: (id) => active.has(id),
    ids: () => [...active.keys()],
    begin,
    stop: (id) => active.get(id)?.stop.abort(STOPPED),
    lose: (id) => active.get(id)?.log.lose(),
  })

  const runs: Runs = {
    get draining() {
      return draining
    },
    get going() {
      return active.size
    },
    watch,
    closing: closing.signal,
    live(runId) {
      const runLog = active.get(runId)?.log
      // One that lost its run may take a while to leave it: what more there is to read is in the table.
      return runLog?.tail.ended ? undefined : runLog
    },
    begin,
    stop(runIds) {
      const elsewhere = runIds.filter((id) => {
        active.get(id)?.stop.abort(STOPPED)
        return !active.has(id)
      })
      if (elsewhere.length > 0) bus.poke('runs')
    },
    wake: () => bus.poke('runs'),
    async drain(seconds) {
      draining = true
      const { promise: late, resolve } = Promise.withResolvers<void>()
      const deadline = setTimeout(resolve, seconds * 1000)
      await Promise.race([late, allDone()])
      clearTimeout(deadline)
      for (const { stop } of active.values()) stop.abort(HAND_OVER)
      // A run that cannot be written now is found by whoever comes next.
      await Promise.race([sleep(HAND_OVER_MS, undefined, { ref: false }), allDone()])
      closing.abort()
    },
    async [Symbol.asyncDispose]() {
      await runs.drain(0)
      await sweeping[Symbol.asyncDispose]()
      await writer[Symbol.asyncDispose]()
    },
  }
  return runs
}

/** A value that a column cannot hold (class 22): to try again is of no use. */
const isUnstorable = (error: unknown): boolean => sqlState(error)?.startsWith('22') === true
/** The ending with what was said, without figures that a provider may have reported beyond all bounds. */
const withoutFigures = (ending: Ending): Ending => ({
  ...ending,
  status: 'failed',
  error: errorBody(new Refusal('internal_error')).error,
  payerError: null,
  usage: null,
  cost: null,
  step: null,
})
