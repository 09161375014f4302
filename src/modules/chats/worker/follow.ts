import type { z } from 'zod'
import type { Context, Engine } from '#infra/context.ts'
import { iterate } from '#infra/iterate-feed.ts'
import type { Feed, Sink } from '#core/answers.ts'
import { type Code, Refusal, codes } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import type { Answered } from '../contract-runs.ts'
import { messageStore } from '../messages/message-store.ts'
import { type RunRow, isFinished, runStore } from '../runs/run-store.ts'
import { showAnswered, visibleTo } from '../runs/show.ts'
import type { HasRuns } from './runs.ts'
import { UNREAD_BYTES } from './tail.ts'

/**
 * Streams a run's events after `after` until it ends: from memory if it runs here, otherwise from the log. The process
 * that runs it may change meanwhile.
 */
export function follow(engine: Engine<HasRuns>, runId: Id, after: number, signal: AbortSignal): Feed {
  const attach = (sink: Sink): Disposable => {
    const detached = new AbortController()
    pour(engine, runId, sink, after, AbortSignal.any([signal, detached.signal, engine.runs.closing]))
      .catch((error: unknown) => engine.log.warn({ error, run: runId }, 'a run’s event reader was dropped'))
      .finally(() => sink.end())
    return { [Symbol.dispose]: () => detached.abort() }
  }
  return {
    attach,
    // The pipeline rechecks access to the chat. The events don’t depend on other permissions.
    recheck: async () => {},
    [Symbol.asyncIterator]: () => iterate(attach, signal),
  }
}

async function pour(engine: Engine<HasRuns>, runId: Id, sink: Sink, after: number, until: AbortSignal): Promise<void> {
  const { runs } = engine
  for (let seq = after; !until.aborted;) {
    const tail = runs.live(runId)?.tail
    if (tail?.reaches(seq)) {
      seq = await tail.pour(sink, seq, until)
      if (tail.isOver(seq)) return
      await sink.drained()
      continue
    }
    const { batch, upTo, over: isOver } = await runs.watch.page(runId, seq)
    if (upTo > seq && sink.write(batch) > UNREAD_BYTES) await sink.drained()
    if (isOver) return
    if (upTo === seq && tail === undefined) await runs.watch.moved(runId, seq, until)
    seq = upTo
  }
}

/** Returns the run once it has ended or needs a person. Null on timeout or abort, undefined if it was deleted. */
export async function untilSettled(
  engine: Engine<HasRuns>,
  runId: Id,
  ms: number,
  signal: AbortSignal,
): Promise<RunRow | null | undefined> {
  const { runs } = engine
  const deadline = new AbortController()
  const until = AbortSignal.any([signal, deadline.signal, runs.closing])
  const timer = setTimeout(() => deadline.abort(), ms)
  try {
    for (;;) {
      const [run] = await runStore.byIds(engine.postgres.db, [runId])
      if (run === undefined || isFinished(run.status) || run.status === 'requires_action') return run
      if (until.aborted) return null
      const live = runs.live(runId)
      if (live) await live.tail.over(until)
      else await runs.watch.moved(runId, EVER, until)
    }
  } finally {
    clearTimeout(timer)
  }
}
const EVER = 2 ** 31 - 1

const INLINE_MS = 600_000

/**
 * Returns the finished answer with its run, or throws the run's error. Null on timeout or when the client disconnects.
 * During shutdown `ctx.signal` fires at once, but runs get time to end, so this waits for them.
 */
export async function untilAnswered(
  ctx: Context<HasRuns>,
  runId: Id,
  ms = INLINE_MS,
): Promise<z.output<typeof Answered> | null> {
  const { runs } = ctx.engine
  const settled = await untilSettled(ctx.engine, runId, ms, ctx.signal)
  const run = settled === null && runs.draining ? await untilSettled(ctx.engine, runId, ms, runs.closing) : settled
  if (run === null) return null
  if (run === undefined) throw chatDeleted()
  if (run.status === 'failed') throw refusalOf(visibleTo(ctx.principal, run))
  const message = await messageStore.get(ctx.db, run.chat_id, run.output_message_id)
  if (!message) throw chatDeleted()
  return showAnswered(message, run)
}

const chatDeleted = (): Refusal => new Refusal('not_found', { message: 'The chat was deleted.' })

function refusalOf({ id, error }: RunRow): Refusal {
  const { code, type, message, param, details } = error!
  const words = code ?? type
  const knownCode: Code = (codes as string[]).includes(words) ? (words as Code) : 'internal_error'
  return new Refusal(knownCode, {
    message,
    ...(param !== undefined && { param }),
    details: { ...details, run_id: id },
    ...(knownCode === 'rate_limited' && { headers: { 'retry-after': '1' } }),
  })
}
