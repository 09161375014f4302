import { setTimeout as sleep } from 'node:timers/promises'
import type { Engine } from '#engine/context.ts'
import { type Db, sqlState } from '#engine/postgres/client.ts'
import { Refusal, errorBody } from '#kernel/errors.ts'
import type { Id } from '#kernel/ids.ts'
import { hasShown, keptParts } from './answer.ts'
import { claimStore } from './claim-store.ts'
import { addUsage } from './cost.ts'
import { denyExpired } from './decide.ts'
import { type EventWriter, createEventWriter } from './event-writer.ts'
import { createFinisher } from './finish.ts'
import { generate } from './generate.ts'
import type { Delegate } from './kit.ts'
import { HAND_OVER, STOPPED } from './leaving.ts'
import { tellUntold } from './interrupted.ts'
import { messageStore } from './message-store.ts'
import { RunLog } from './run-log.ts'
import { eventStore } from './event-store.ts'
import { type RunRow, runStore } from './run-store.ts'
import { stepStore } from './step-store.ts'
import { sweepStore } from './sweep-store.ts'
import { RunWatch } from './run-watch.ts'
import { chatStore } from './store.ts'
import { type Claim, type Ending, cancelWaiting, claimNext, endFromOutside, pause } from './transitions.ts'

const SWEEP_MS = 1_000
const AGAIN_MS = 500
const HAND_OVER_MS = 5_000
/** A run that was taken over so often takes its servers down with it. */
const MOST_ADOPTIONS = 3

export const interrupted = {
  type: 'unavailable',
  code: 'interrupted',
  message: 'The server stopped while this was running.',
} as const

/** The runs of this process. A run belongs to the server: whoever reads it may come and go. */
export interface Runs extends AsyncDisposable {
  /** The server is stopping: what is accepted now waits for another process. */
  readonly draining: boolean
  /** How many go on here. */
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
  /** Somebody waits whose turn it may be. */
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

const known = new WeakMap<Engine, Runs>()
export function runsOf(engine: Engine): Runs {
  const runs = known.get(engine)
  if (!runs) throw new Error('the runs of this server were not started')
  return runs
}

/** Takes part in running the chats of this database. Once per engine. */
export function startRuns(engine: Engine, delegate: Delegate): Runs {
  const { postgres, bus, log, processId } = engine
  const { db } = postgres
  const active = new Map<Id, Active>()
  const writer: EventWriter = createEventWriter({ postgres, log })
  const watch = new RunWatch(postgres, log)
  const written = createFinisher(engine)
  let draining = false
  const closing = new AbortController()

  function begin(claim: Claim): void {
    const { run, lastSeq, events } = claim
    const runLog = new RunLog(run.id, run.fence, lastSeq, events)
    const stop = new AbortController()
    const entry: Active = { claim, log: runLog, stop, done: Promise.resolve() }
    active.set(run.id, entry)
    entry.done = carryOut(entry)
      .catch((error: unknown) => log.error({ error, run: run.id }, 'a run was left without an end'))
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
      log.error({ error, run: claim.run.id }, 'the end of a run cannot be written')
      await durably(() => finish(claim.run, withoutFigures(final), runLog))
    }
  }

  /** What of an answer is kept when another process goes on with it: nothing where its readers saw nothing. Null when it cannot go on. */
  async function keptOf(tx: Db, { id, chat_id, output_message_id }: RunRow) {
    const events = await eventStore.all(tx, id)
    const before = await messageStore.get(tx, chat_id, output_message_id)
    const kept = hasShown(events.map(({ type }) => type))
      ? keptParts(output_message_id, before?.content ?? [], events)
      : []
    return { before, kept, lastSeq: events.at(-1)?.seq ?? 0 }
  }

  /** Writes the end, gives the turn to whoever waits, and only then shows it. */
  async function finish(run: RunRow, ending: Ending, runLog: RunLog): Promise<void> {
    const done = await written({ run, ending, lastSeq: runLog.lastSeq, handOn: !draining })
    if (done === null) return
    runLog.tail.push(done.ended.events)
    bus.poke('outbox')
    if (done.next) begin(done.next)
    // Who handed this on may be waiting elsewhere, and what this has handed on is no longer wanted.
    if ((done.next === null && draining) || run.parent_call !== null || ending.status !== 'completed') bus.poke('runs')
  }

  /** Until a person has decided: nobody runs it meanwhile. */
  async function rest(run: RunRow, left: Parameters<typeof pause>[2], runLog: RunLog): Promise<void> {
    const events = await db.transaction().execute(async (tx) => {
      if ((await chatStore.hold(tx, run.chat_id)) === null) return null
      // Asked to stop while it came to rest: it has ended rather than waits.
      const now = await runStore.get(tx, run.chat_id, run.id)
      const paused = await pause(tx, run, left, runLog.lastSeq)
      if (paused && now?.cancel_requested_at) await cancelWaiting(tx, (await runStore.get(tx, run.chat_id, run.id))!)
      return paused
    })
    if (events) runLog.tail.push(events)
    bus.poke('outbox')
  }

  /** To whoever comes next, with what it has used; false when nobody can go on from where it is. */
  async function release(run: RunRow, { step, model, provider, usage, cost, before = null }: Ending): Promise<boolean> {
    const released = await db.transaction().execute(async (tx) => {
      if ((await chatStore.hold(tx, run.chat_id)) === null) return true
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

  /** Again until the database takes it: a run without an end would hold up its chat. Throws for what it never takes. */
  async function durably<T>(write: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await write()
      } catch (error) {
        if (closing.signal.aborted || isUnstorable(error)) throw error
        log.warn({ error }, 'the end of a run cannot be written now')
        await sleep(AGAIN_MS)
      }
    }
  }

  /** What is nobody's is taken, and what somebody asked for elsewhere is done here. */
  async function sweep(): Promise<void> {
    for (const id of await sweepStore.toCancel(db, processId)) active.get(id)?.stop.abort(STOPPED)
    for (const run of await sweepStore.forsaken(db))
      await inChat(run.chat_id, (tx) => forsake(tx, run)).catch(left(run.id))
    for (const id of await sweepStore.lost(db, processId, [...active.keys()])) active.get(id)?.log.lose()
    if (draining) return
    for (const run of await sweepStore.orphans(db, processId))
      if (!active.has(run.id)) await adopt(run).catch(left(run.id))
    for (const run of await sweepStore.expired(db))
      await inChat(run.chat_id, (tx) => expire(tx, run)).catch(left(run.id))
    for (const run of await sweepStore.reunited(db))
      await inChat(run.chat_id, (tx) => reunite(tx, run)).catch(left(run.id))
    for (const chatId of await sweepStore.stalled(db)) {
      const next = await inChat(chatId, (tx) => claimNext(tx, chatId, processId))
      if (next) begin(next)
    }
  }
  /** One that cannot be taken over now does not keep the others from it. */
  const left = (runId: Id) => (error: unknown) => log.warn({ error, run: runId }, 'a run cannot be taken over now')

  /** A run whose process is no more begins again where its readers cannot tell, or goes on from what was kept; else it has failed. */
  async function adopt(orphan: RunRow): Promise<void> {
    const claim = await inChat(orphan.chat_id, async (tx) => {
      await tellUntold(tx, orphan)
      const { before, kept, lastSeq } = await keptOf(tx, orphan)
      if (orphan.cancel_requested_at !== null) await endFromOutside(tx, orphan, processId, { status: 'cancelled' })
      else if (kept === null || orphan.adoptions >= MOST_ADOPTIONS)
        await endFromOutside(tx, orphan, processId, { status: 'failed', error: interrupted })
      else {
        const run = await claimStore.takeOver(tx, orphan, processId)
        const output = before && { ...before, content: kept }
        return run && output ? { run, output, events: [], lastSeq } : null
      }
      return claimNext(tx, orphan.chat_id, processId)
    })
    if (claim) begin(claim)
    bus.poke('outbox')
  }

  /** What nobody has decided in time is decided: the run goes on with the next look for those that wait. */
  async function expire(tx: Db, { chat_id, id }: RunRow): Promise<void> {
    const run = await runStore.get(tx, chat_id, id)
    if (run?.status === 'requires_action') await denyExpired(tx, run, new Date())
  }

  /** A task that has ended is no longer waited for: the run that handed it on takes its turn, and reads what came of it. */
  async function reunite(tx: Db, { chat_id, id }: RunRow): Promise<void> {
    const run = await runStore.get(tx, chat_id, id)
    if (run?.status !== 'requires_action') return
    const { approved = [] } = run.options as { approved?: number[] }
    const pending = run.pending_actions.filter(({ kind }) => kind !== 'subagent')
    await runStore.decide(tx, id, { pending, approved })
  }

  async function forsake(tx: Db, { id }: RunRow): Promise<void> {
    const asked = await runStore.requestCancel(tx, id)
    if (asked?.status === 'running') active.get(id)?.stop.abort(STOPPED)
    else if (asked) await cancelWaiting(tx, asked)
  }

  const inChat = <T>(chatId: Id, work: (tx: Db) => Promise<T>): Promise<T | null> =>
    db.transaction().execute(async (tx) => ((await chatStore.hold(tx, chatId)) === null ? null : work(tx)))

  const allDone = () => Promise.all([...active.values()].map(({ done }) => done))

  let sweeping: Promise<void> | null = null
  let again = false
  function sweepSoon(): void {
    again = true
    sweeping ??= sweepWhileAsked().finally(() => (sweeping = null))
  }
  async function sweepWhileAsked(): Promise<void> {
    do {
      again = false
      if (!closing.signal.aborted)
        await sweep().catch((error: unknown) => log.warn({ error }, 'runs cannot be swept now'))
    } while (again)
  }
  const timer = setInterval(sweepSoon, SWEEP_MS)
  const woken = bus.on('runs', sweepSoon)
  sweepSoon()

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
      // What cannot be written now is found by whoever comes next.
      await Promise.race([sleep(HAND_OVER_MS, undefined, { ref: false }), allDone()])
      closing.abort()
    },
    async [Symbol.asyncDispose]() {
      await runs.drain(0)
      clearInterval(timer)
      woken[Symbol.dispose]()
      await sweeping
      await writer[Symbol.asyncDispose]()
      known.delete(engine)
    },
  }
  known.set(engine, runs)
  return runs
}

/** A value that a column cannot hold (class 22): to try again is of no use. */
const isUnstorable = (error: unknown): boolean => sqlState(error)?.startsWith('22') === true
/** What was said, without what a provider may have reported beyond all bounds. */
const withoutFigures = (ending: Ending): Ending => ({
  ...ending,
  status: 'failed',
  error: errorBody(new Refusal('internal_error')).error,
  usage: null,
  cost: null,
  step: null,
})
