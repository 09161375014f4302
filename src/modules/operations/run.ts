import type { Context, Engine } from '#infra/context.ts'
import type { JobHandler } from '#infra/jobs/jobs.ts'
import { asCaller } from '#infra/postgres/fair/callers.ts'
import { type ErrorBody, Refusal, errorBody } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { checkPlace, checkWritable } from '#authz/place.ts'
import { membershipIn } from '#core/principal.ts'
import { scopes as allScopes } from '#core/scopes.ts'
import { tell, transition, wake } from './events.ts'
import { type OperationKind, type Outcome, jobOf } from './start.ts'
import { type OperationRow, jobKey, operations } from './store.ts'
import type { HasOperationWatch } from './watch.ts'

const SWEEP_MS = 3_000
/** The time that an operation may take to stop by itself. Cancelled ones must have ended within 10 s. */
const GRACE_SECONDS = 4
const PROGRESS_MS = 500
/** The least time between two writes of appended text; the more text there is, the longer. */
const APPEND_MS = 500
const APPEND_CHARACTERS_PER_MS = 4_096

/**
 * Does operations, and sees to it that each comes to an end. `handlers` go to the job runner; `hosts` are the hosts
 * that this process stands for.
 */
export function runOperations<H extends HasOperationWatch>(
  engine: Engine<H>,
  list: readonly OperationKind<object, H>[],
  hosts: readonly string[] = [],
): AsyncDisposable & { handlers: Record<string, JobHandler> } {
  const { db } = engine.postgres
  const kinds = new Map(list.map((kind) => [kind.name, kind]))
  const jobFor = ({ kind, input }: Pick<OperationRow, 'kind' | 'input'>): string =>
    jobOf(kinds.get(kind)?.host(input as object) ?? null)

  // An operation that says it runs here and is not among these was lost: its end could not be written.
  const here = new Set<Id>()
  const running = new Set<Promise<void>>()
  const closing = new AbortController()

  /**
   * Begins an operation and returns. Operations last for minutes or days, and a process does only so many jobs at the same
   * time: if they were done as jobs, the operations of one account would keep everyone's mail, pushes and housekeeping waiting.
   */
  async function job(name: string, { id }: { id: Id }): Promise<void> {
    if (here.has(id)) return
    // Another process begins it, or this one after its restart.
    if (closing.signal.aborted)
      return await engine.jobs.add(engine.postgres, name, { id }, { key: jobKey(id), inSeconds: 1 })
    here.add(id)
    let row: OperationRow | null = null
    try {
      row = await transition(engine, (tx) => operations.take(tx, id, engine.processId))
    } finally {
      if (row === null) here.delete(id)
    }
    if (row === null) return
    const guarded = run(row, kinds.get(row.kind), closing.signal)
      .finally(() => here.delete(id))
      .catch((error: unknown) => engine.log.error({ error, operation: id }, 'an operation could not be finished'))
      .finally(() => running.delete(guarded))
    running.add(guarded)
  }

  async function run(
    row: OperationRow,
    kind: OperationKind<object, H> | undefined,
    stopping: AbortSignal,
  ): Promise<void> {
    const { id } = row
    if (!kind) return await fail(row, new Error(`nobody does operations of the kind ${row.kind}`))
    const ended = new AbortController()
    using _watch = engine.operationWatch.add(id, (state) => {
      if (state?.status !== 'running' || state.cancel_requested_at !== null)
        ended.abort(new Error('the operation was cancelled'))
    })
    const signal = AbortSignal.any([ended.signal, stopping])
    using late = after(signal, GRACE_SECONDS * 1000)
    using progress = progressOf(row)
    const content = appendsOf(row)
    try {
      const ctx = await engine.actAs({
        accountId: row.account_id,
        scopes: row.scopes ?? allScopes,
        workspaceId: row.held_to,
        payingKeyId: row.key_id,
        signal,
      })
      if (!ctx) throw new Refusal('not_found', { message: 'The account no longer exists.' })
      checkStill(ctx, kind, row)
      const caller = { name: row.account_id, signal: null, reads: false }
      const work = asCaller(caller, () =>
        kind.run(ctx, row.input as object, {
          id,
          signal,
          cancelled: ended.signal,
          attempt: row.attempts,
          progress: progress.set,
          append: content.add,
        }),
      )
      const outcome = await Promise.race([work, late.passed])
      await content.flush()
      await conclude(row, outcome)
    } catch (error) {
      await content.flush()
      if (ended.signal.aborted)
        await transition(engine, (tx) => operations.leave(tx, id, engine.processId, 'cancelled'))
      // Parts that it works with may stop a moment before it is told to.
      else if (stopping.aborted || isStopping(error)) await interrupted(row, engine.processId)
      else await fail(row, error)
    }
  }

  const isStopping = (error: unknown): boolean => error instanceof Refusal && error.code === 'shutting_down'

  async function conclude(
    row: OperationRow,
    { cancelled = false, result, content, resource, cost }: Outcome,
  ): Promise<void> {
    await transition(engine, (tx) =>
      operations.leave(tx, row.id, engine.processId, cancelled ? 'cancelled' : 'succeeded', {
        ...(!cancelled && { progress: 1 }),
        result: result === undefined ? null : JSON.stringify(result),
        ...(cost !== undefined && { cost_nano: cost }),
        ...(resource && { resource_type: resource.type, resource_id: resource.id }),
        ...(content && 'text' in content && { content: content.text, content_type: content.type }),
        ...(content && 'fileId' in content && { content_file_id: content.fileId }),
        ...(content && { content_expires_at: new Date(Date.now() + row.content_seconds! * 1000) }),
      }),
    )
  }

  async function fail(row: OperationRow, error: unknown): Promise<void> {
    const refusal =
      error instanceof Refusal
        ? error
        : new Refusal('internal_error', {
            message: `Something went wrong on our side. If you report it, include the operation ID ${row.id}.`,
          })
    if (refusal !== error) engine.log.error({ error, operation: row.id, kind: row.kind }, 'an operation failed')
    await end(row, engine.processId, errorBody(refusal).error)
  }
  const end = (row: OperationRow, processId: Id, error: ErrorBody['error']) =>
    transition(engine, (tx) => operations.leave(tx, row.id, processId, 'failed', { error: JSON.stringify(error) }))

  /** Takes up an operation whose process ended under it: repeated where that is safe, and not for ever. */
  async function interrupted(row: OperationRow, processId: Id): Promise<void> {
    if (!kinds.get(row.kind)?.repeatable || row.attempts >= kinds.get(row.kind)!.attempts) {
      await end(row, processId, {
        type: 'unavailable',
        code: 'interrupted',
        message: 'The server stopped while this was running.',
      })
      return
    }
    await transition(engine, async (tx) => {
      const queued = await operations.leave(tx, row.id, processId, 'queued')
      if (queued) await engine.jobs.add({ db: tx }, jobFor(row), { id: row.id }, { key: jobKey(row.id) })
      return queued
    })
  }

  /** Written at most twice a second, the last one always unless the operation ends first. */
  function progressOf({ id }: OperationRow): Disposable & { set: (fraction: number) => void } {
    let waiting: number | null = null
    let timer: NodeJS.Timeout | null = null
    const write = (): void => {
      timer = null
      if (waiting === null) return
      const fraction = waiting
      waiting = null
      timer = setTimeout(write, PROGRESS_MS)
      transition(engine, (tx) => operations.progress(tx, id, engine.processId, fraction)).catch((error: unknown) =>
        engine.log.warn({ error, operation: id }, 'progress was not written'),
      )
    }
    return {
      set(fraction) {
        waiting = Math.min(1, Math.max(0, fraction))
        if (timer === null) write()
      },
      [Symbol.dispose]() {
        if (timer) clearTimeout(timer)
        waiting = null
      },
    }
  }

  /** The output of an operation while it goes on: written now and then, and the rest before its end. */
  function appendsOf({ id }: OperationRow): { add: (text: string) => void; flush: () => Promise<void> } {
    let waiting = ''
    let written = 0
    let first = true
    let timer: NodeJS.Timeout | null = null
    let writing = Promise.resolve()
    const write = (): void => {
      timer = null
      const text = waiting
      waiting = ''
      written += text.length
      const anew = first
      first = false
      writing = writing
        .then(() => operations.append(db, id, engine.processId, text, anew))
        .catch((error: unknown) => engine.log.warn({ error, operation: id }, 'content was not written'))
    }
    return {
      add(text) {
        // PostgreSQL holds no NUL in a text.
        waiting += text.replaceAll('\0', '\uFFFD')
        timer ??= setTimeout(write, first ? 0 : APPEND_MS + written / APPEND_CHARACTERS_PER_MS)
      },
      async flush() {
        if (timer) clearTimeout(timer)
        timer = null
        if (waiting !== '') write()
        await writing
      },
    }
  }

  async function sweep(): Promise<void> {
    const ended = await db.transaction().execute(async (tx) => {
      const rows = [...(await operations.endCancelled(tx, GRACE_SECONDS + 1)), ...(await operations.endExpired(tx))]
      for (const row of rows) await tell(tx, row)
      return rows
    })
    if (ended.length > 0) wake(engine)
    for (const row of await operations.orphans(db, engine.processId))
      if (!here.has(row.id)) await interrupted(row, row.process_id!)
    for (const row of await operations.jobless(db))
      await engine.jobs.add({ db }, jobFor(row), { id: row.id }, { key: jobKey(row.id) })
  }

  let sweeping: Promise<void> | null = null
  const timer = setInterval(() => {
    sweeping ??= sweep()
      .catch((error: unknown) => engine.log.error({ error }, 'operations cannot be swept'))
      .finally(() => (sweeping = null))
  }, SWEEP_MS)
  return {
    handlers: Object.fromEntries(
      [null, ...hosts].map(jobOf).map((name) => [name, (payload: { id: Id }) => job(name, payload)]),
    ),
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      closing.abort(new Refusal('shutting_down'))
      await Promise.all([sweeping, ...running])
    },
  }
}

/**
 * Checks the rights again: between its start and its beginning the account may have lost the workspace, or its role
 * there.
 */
function checkStill(
  { principal }: Context,
  { scope }: Pick<OperationKind, 'scope'>,
  { workspace_id }: OperationRow,
): void {
  if (scope === null || workspace_id === null) return
  const membership = membershipIn(principal, workspace_id)
  if (!membership)
    throw new Refusal('not_found', { message: 'The workspace was deleted, or you’re no longer a member.' })
  checkPlace(membership, scope)
  checkWritable(membership)
}

/** Rejects so long after the signal fired: an operation that does not listen must not go on for ever. */
function after(signal: AbortSignal, ms: number): Disposable & { passed: Promise<never> } {
  const { promise, reject } = Promise.withResolvers<never>()
  let timer: NodeJS.Timeout | null = null
  const start = (): void => void (timer ??= setTimeout(() => reject(new Error('it did not stop in time')), ms))
  if (signal.aborted) start()
  else signal.addEventListener('abort', start, { once: true })
  // Nobody may be racing any more when it comes.
  promise.catch(() => {})
  return {
    passed: promise,
    [Symbol.dispose]() {
      signal.removeEventListener('abort', start)
      if (timer) clearTimeout(timer)
    },
  }
}
