import type { Engine } from '#infra/context.ts'
import { Refusal } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { iso } from '#core/time.ts'
import type { OperationName } from '#daemon-protocol/operations.ts'
import { offline } from './offline.ts'
import { findPlace } from './state.ts'

/** In milliseconds. */
export interface UseLimits {
  /** For a whole read or small change, including reconnects. */
  answerMs: number
  /** For the next bytes, while the server waits for the computer. */
  stillMs: number
}

/** A dead link is detected within 45 s, and a transfer must survive that. */
export const USE_LIMITS: UseLimits = { answerMs: 30_000, stillMs: 60_000 }

/** The daemon gives an engine 60 s to start, and `userdel` 30 s per try. */
const TIMES: Partial<Record<OperationName, number>> = { 'engine.control': 4, 'users.delete': 2 }
/** Operations that report progress: each event restarts the limit. */
export const TELLS: ReadonlySet<OperationName> = new Set(['fs.remove'])

export const answerMsOf = (op: OperationName, { answerMs }: UseLimits): number => answerMs * (TIMES[op] ?? 1)

export interface UseLimit extends Disposable {
  /** Aborts with the caller's signal or a refusal at the limit. */
  readonly signal: AbortSignal
  /** Restarts the limit. Infinity turns it off. */
  moved(ms?: number): void
  /** Pauses the limit until `moved`. */
  rest(): void
  /** The refusal if the limit was reached, or `error`. */
  reasonFor(error: unknown): unknown
}

/** Node fires longer timers at once. No command may last this long. */
const LONGEST_TIMER_MS = 2 ** 31 - 1
const LOOK_MS = 2_000

export function startLimit(engine: Engine, computerId: Id, signal: AbortSignal, ms: number): UseLimit {
  const late = new AbortController()
  let timer: NodeJS.Timeout | undefined
  let isOver = false
  const stop = (): void => clearTimeout(timer)
  let limitMs = ms
  const start = (next = limitMs): void => {
    stop()
    limitMs = next
    if (!isOver && limitMs < Infinity) timer = setTimeout(() => void end(), Math.min(limitMs, LONGEST_TIMER_MS))
  }
  async function end(): Promise<void> {
    isOver = true
    late.abort(await silentRefusal(engine, computerId))
  }
  start()
  return {
    signal: AbortSignal.any([signal, late.signal]),
    moved: (next) => start(next),
    rest: stop,
    reasonFor: (error) => (late.signal.aborted && !signal.aborted ? late.signal.reason : error),
    [Symbol.dispose]() {
      isOver = true
      stop()
    },
  }
}

export async function silentRefusal(engine: Engine, computerId: Id): Promise<Refusal> {
  let timer: NodeJS.Timeout | undefined
  const nothing = new Promise<null>((resolve) => (timer = setTimeout(resolve, LOOK_MS, null)))
  const place = await Promise.race([findPlace(engine, computerId).catch(() => null), nothing])
  clearTimeout(timer)
  if (place !== null && place.processId === null) {
    try {
      offline(place)
    } catch (error) {
      if (error instanceof Refusal) return error
    }
  }
  const lastSeenAt = place?.last_seen_at ?? null
  return new Refusal('timeout', {
    message:
      'The computer is connected but didn’t respond in time. If this request changes something, check whether it was done before you try again.',
    details: { last_seen_at: lastSeenAt === null ? null : iso(lastSeenAt) },
  })
}

/** Operations that aren't repeatable: a retry would act again, or be refused because of the first attempt. */
export const ONCE: ReadonlySet<OperationName> = new Set([
  'fs.mkdir',
  'fs.remove',
  'fs.write',
  // Not repeated automatically: by then the sender may have permission again. A job repeats it.
  'fs.upload_drop',
  'ports.dial',
  'users.create',
  'users.delete',
  'engine.call',
  'engine.remove',
])
/** Operations that don't wait for an absent computer: they check its presence, another can answer, or a job retries. */
export const NEVER_WAITS: ReadonlySet<OperationName> = new Set([
  'daemon.probe',
  'engine.call',
  'engine.models',
  'fs.upload_drop',
])

/** Read-only operations: if the computer doesn't come back, nothing was changed. */
export const LOOKS: ReadonlySet<OperationName> = new Set([
  'daemon.probe',
  'terminal.list',
  'terminal.read',
  'fs.start',
  'fs.list',
  'fs.stat',
  'fs.upload_offset',
  'ports.list',
  'users.list',
  'engine.models',
])
