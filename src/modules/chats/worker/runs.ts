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

/** The runs of this process. They continue without readers. */
export interface Runs extends AsyncDisposable {
  /** The server is stopping: another process starts the runs accepted from now on. */
  readonly draining: boolean
  /** The number of active runs. */
  readonly going: number
  /** Fires when this process stops running chats. */
  readonly closing: AbortSignal
  readonly watch: RunWatch
  /** The log of an active run of this process. */
  live(runId: Id): RunLog | undefined
  /** Runs a claimed run. Call it after the claim is committed. */
  begin(claim: Claim): void
  /** Stops these runs, also in other processes. */
  stop(runIds: readonly Id[]): void
  /** Wakes the processes to look for waiting runs. */
  wake(): void
  /** Lets runs finish for this long, then hands them over or ends them. */
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
/** The handles by which chats use other modules, with the runs of this process. */
export interface ChatHandles extends AgentHandles, HasRuns {
  chatBatches: ChatBatches
  /** Pauses automations that use a chat whose agent the caller changes. */
  chatChanged(ctx: Context, chatId: Id): Promise<void>
}

/** Takes part in running the chats of this database. */
export const startRuns = (engine: Engine<AgentHandles>, delegate: Delegate): Runs => new RunWorker(engine, delegate)

class RunWorker implements Runs {
  readonly watch: RunWatch
  readonly #engine: Engine<AgentHandles>
  readonly #delegate: Delegate
  readonly #active = new Map<Id, Active>()
  readonly #writer: EventWriter
  readonly #finish: ReturnType<typeof createFinisher>
  readonly #closing = new AbortController()
  #draining = false
  readonly #sweeping: AsyncDisposable

  constructor(engine: Engine<AgentHandles>, delegate: Delegate) {
    this.#engine = engine
    this.#delegate = delegate
    const { postgres, log } = engine
    this.#writer = createEventWriter({ postgres: postgres.forServer, log })
    this.watch = new RunWatch(postgres.forServer, log)
    this.#finish = createFinisher(engine)
    this.#sweeping = startSweeping(engine, {
      closing: this.closing,
      draining: () => this.#draining,
      has: (id) => this.#active.has(id),
      ids: () => [...this.#active.keys()],
      begin: (claim) => this.begin(claim),
      stop: (id) => this.#active.get(id)?.stop.abort(STOPPED),
      lose: (id) => this.#active.get(id)?.log.lose(),
    })
  }

  get draining(): boolean {
    return this.#draining
  }

  get going(): number {
    return this.#active.size
  }

  get closing(): AbortSignal {
    return this.#closing.signal
  }

  live(runId: Id): RunLog | undefined {
    const runLog = this.#active.get(runId)?.log
    // A process that lost a run may take a while to drop it. Later events are in the table.
    return runLog?.tail.ended ? undefined : runLog
  }

  begin(claim: Claim): void {
    const { run, lastSeq, events } = claim
    const runLog = new RunLog(run.id, run.fence, lastSeq, events)
    const stop = new AbortController()
    const entry: Active = { claim, log: runLog, stop, done: Promise.resolve() }
    this.#active.set(run.id, entry)
    const caller = { name: run.account_id, signal: null, reads: false }
    entry.done = asCaller(caller, () => this.#carryOut(entry))
      .catch((error: unknown) => this.#engine.log.error({ error, run: run.id }, 'a run was left unfinished'))
      .finally(() => {
        this.#active.delete(run.id)
        runLog.tail.end()
      })
  }

  stop(runIds: readonly Id[]): void {
    const elsewhere = runIds.filter((id) => {
      this.#active.get(id)?.stop.abort(STOPPED)
      return !this.#active.has(id)
    })
    if (elsewhere.length > 0) this.wake()
  }

  wake(): void {
    this.#engine.bus.poke('runs')
  }

  async drain(seconds: number): Promise<void> {
    this.#draining = true
    const { promise: late, resolve } = Promise.withResolvers<void>()
    const deadline = setTimeout(resolve, seconds * 1000)
    await Promise.race([late, this.#allDone()])
    clearTimeout(deadline)
    for (const { stop } of this.#active.values()) stop.abort(HAND_OVER)
    // Another process finds the runs that can't be written now.
    await Promise.race([sleep(HAND_OVER_MS, undefined, { ref: false }), this.#allDone()])
    this.#closing.abort()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.drain(0)
    await this.#sweeping[Symbol.asyncDispose]()
    await this.#writer[Symbol.asyncDispose]()
  }

  async #carryOut({ claim, log: runLog, stop }: Active): Promise<void> {
    const signal = AbortSignal.any([stop.signal, runLog.lost])
    const ending = await generate(this.#engine, claim, signal, {
      tell: (facts) => {
        this.#writer.append(runLog, facts)
        return this.#writer.room(runLog)
      },
      told: () => this.#writer.flushed(runLog),
      delegate: this.#delegate,
    })
    // The ledger is written before the step, so that every step's cost was charged.
    await Promise.all([this.#writer.flushed(runLog), this.#durably(() => this.#engine.ledger.flush())])
    if (runLog.lost.aborted) return
    if (ending.status === 'requires_action') return await this.#durably(() => this.#rest(claim.run, ending, runLog))
    const handedOver = ending.status === 'cancelled' && stop.signal.reason === HAND_OVER
    if (handedOver && (await this.#durably(() => this.#release(claim.run, ending)))) return
    const final: Ending = handedOver ? { ...ending, status: 'failed', error: interrupted } : ending
    try {
      await this.#durably(() => this.#end(claim.run, final, runLog))
    } catch (error) {
      if (!isUnstorable(error)) throw error
      this.#engine.log.error({ error, run: claim.run.id }, 'a run’s result cannot be written')
      await this.#durably(() => this.#end(claim.run, withoutFigures(final), runLog))
    }
  }

  /** Writes the end and starts the chat's next run before readers see the end. */
  async #end(run: RunRow, ending: Ending, runLog: RunLog): Promise<void> {
    const done = await this.#finish({ run, ending, lastSeq: runLog.lastSeq, handOn: !this.#draining })
    if (done === null) return
    runLog.tail.push(done.ended.events)
    this.#engine.bus.poke('outbox')
    if (done.next) this.begin(done.next)
    // Its parent may be waiting in another process, and its own delegated runs may have to stop.
    if ((done.next === null && this.#draining) || run.parent_call !== null || ending.status !== 'completed') this.wake()
  }

  /** Pauses the run until someone decides on its pending tool calls. */
  async #rest(run: RunRow, pendingCalls: Parameters<typeof pause>[2], runLog: RunLog): Promise<void> {
    const events = await this.#engine.postgres.db.transaction().execute(async (tx) => {
      if ((await chatStore.lock(tx, run.chat_id)) === null) return null
      // Canceled while it was being paused: it ends instead.
      const now = await runStore.get(tx, run.chat_id, run.id)
      const paused = await pause(tx, run, pendingCalls, runLog.lastSeq)
      if (paused && now?.cancel_requested_at) await cancelWaiting(tx, (await runStore.get(tx, run.chat_id, run.id))!)
      return paused
    })
    if (events) runLog.tail.push(events)
    this.#engine.bus.poke('outbox')
  }

  /** Releases a run to another process, with its usage. Returns false if the run can't be continued. */
  async #release(run: RunRow, { step, model, provider, usage, cost, before = null }: Ending): Promise<boolean> {
    const released = await this.#engine.postgres.db.transaction().execute(async (tx) => {
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
    this.wake()
    return released
  }

  /** Retries a write until it succeeds, because a run without an end blocks its chat. Throws if it can't succeed. */
  async #durably<T>(write: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await write()
      } catch (error) {
        if (this.#closing.signal.aborted || isUnstorable(error)) throw error
        this.#engine.log.warn({ error }, 'a run’s result cannot be written right now')
        await sleep(AGAIN_MS)
      }
    }
  }

  #allDone(): Promise<unknown> {
    return Promise.all([...this.#active.values()].map(({ done }) => done))
  }
}

/** A value that doesn't fit its column (SQLSTATE class 22). Retrying is useless. */
const isUnstorable = (error: unknown): boolean => sqlState(error)?.startsWith('22') === true
/** The ending without figures: a provider may have reported values out of range. */
const withoutFigures = (ending: Ending): Ending => ({
  ...ending,
  status: 'failed',
  error: errorBody(new Refusal('internal_error')).error,
  payerError: null,
  usage: null,
  cost: null,
  step: null,
})
