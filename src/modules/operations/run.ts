import type { Context, Engine } from '#infra/context.ts'
import type { JobHandler } from '#infra/jobs/jobs.ts'
import type { Db } from '#infra/postgres/client.ts'
import { asCaller } from '#infra/postgres/fair/callers.ts'
import { type ErrorBody, Refusal, errorBody } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { checkPlace, checkWritable } from '#authz/place.ts'
import { membershipIn } from '#core/principal.ts'
import { scopes as allScopes } from '#core/scopes.ts'
import { tell, transition, wake } from './events.ts'
import { ContentWriter, ProgressWriter } from './output.ts'
import { type OperationKind, type Outcome, jobOf } from './start.ts'
import { type OperationRow, jobKey, operations } from './store.ts'
import type { HasOperationWatch } from './watch.ts'

const SWEEP_MS = 3_000
/** The time that a canceled operation has to stop. It must have ended within 10 s. */
const GRACE_SECONDS = 4

export interface OperationWorker extends AsyncDisposable {
  handlers: Record<string, JobHandler>
}

/**
 * Runs operations and makes sure that each one ends. `handlers` go to the job runner. `hosts` are the hosts that this
 * process runs operations for.
 */
export const runOperations = <H extends HasOperationWatch>(
  engine: Engine<H>,
  kinds: readonly OperationKind<object, H>[],
  hosts: readonly string[] = [],
): OperationWorker => new Worker(engine, kinds, hosts)

class Worker<H extends HasOperationWatch> implements OperationWorker {
  readonly handlers: Record<string, JobHandler>
  readonly #engine: Engine<H>
  readonly #kinds: ReadonlyMap<string, OperationKind<object, H>>
  /** An operation that this process should be running but that isn't in here was lost: its end couldn't be written. */
  readonly #ids = new Set<Id>()
  readonly #running = new Set<Promise<void>>()
  readonly #closing = new AbortController()
  readonly #sweepTimer: NodeJS.Timeout
  #sweeping: Promise<void> | null = null

  constructor(engine: Engine<H>, kinds: readonly OperationKind<object, H>[], hosts: readonly string[]) {
    this.#engine = engine
    this.#kinds = new Map(kinds.map((kind) => [kind.name, kind]))
    this.handlers = Object.fromEntries(
      [null, ...hosts].map(jobOf).map((name) => [name, (payload: { id: Id }) => this.#start(name, payload.id)]),
    )
    this.#sweepTimer = setInterval(() => {
      this.#sweeping ??= this.#sweep()
        .catch((error: unknown) => engine.log.error({ error }, 'operations cannot be swept'))
        .finally(() => (this.#sweeping = null))
    }, SWEEP_MS)
  }

  /**
   * Starts an operation and returns. Operations take minutes or days, and a process runs a limited number of jobs at
   * once: as jobs, one account's operations would delay everyone's email, pushes and cleanups.
   */
  async #start(jobName: string, id: Id): Promise<void> {
    if (this.#ids.has(id)) return
    // Another process starts it, or this one after its restart.
    if (this.#closing.signal.aborted)
      return await this.#engine.jobs.add(this.#engine.postgres, jobName, { id }, { key: jobKey(id), inSeconds: 1 })
    this.#ids.add(id)
    let row: OperationRow | null = null
    try {
      row = await transition(this.#engine, (tx) => operations.take(tx, id, this.#engine.processId))
    } finally {
      if (row === null) this.#ids.delete(id)
    }
    if (row === null) return
    const run = this.#run(row)
      .finally(() => this.#ids.delete(id))
      .catch((error: unknown) => this.#engine.log.error({ error, operation: id }, 'an operation could not be finished'))
      .finally(() => this.#running.delete(run))
    this.#running.add(run)
  }

  async #run(row: OperationRow): Promise<void> {
    const { id } = row
    const kind = this.#kinds.get(row.kind)
    if (!kind) return await this.#fail(row, new Error(`no process runs operations of the kind ${row.kind}`))
    const stopping = this.#closing.signal
    const ended = new AbortController()
    using _watch = this.#engine.operationWatch.add(id, (state) => {
      if (state?.status !== 'running' || state.cancel_requested_at !== null)
        ended.abort(new Error('the operation was cancelled'))
    })
    const signal = AbortSignal.any([ended.signal, stopping])
    using late = after(signal, GRACE_SECONDS * 1000)
    using progress = new ProgressWriter(this.#engine, id)
    const content = new ContentWriter(this.#engine, id)
    try {
      const ctx = await this.#contextOf(row, signal)
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
      await this.#conclude(row, outcome)
    } catch (error) {
      await content.flush()
      if (ended.signal.aborted)
        await transition(this.#engine, (tx) => operations.leave(tx, id, this.#engine.processId, 'cancelled'))
      // Services that the operation uses may stop a moment before the signal fires.
      else if (stopping.aborted || isStopping(error)) await this.#retryOrEnd(row, this.#engine.processId)
      else await this.#fail(row, error)
    }
  }

  async #contextOf(row: OperationRow, signal: AbortSignal): Promise<Context<H>> {
    const ctx = await this.#engine.actAs({
      accountId: row.account_id,
      scopes: row.scopes ?? allScopes,
      workspaceId: row.held_to,
      payingKeyId: row.key_id,
      signal,
    })
    if (!ctx) throw new Refusal('not_found', { message: 'The account no longer exists.' })
    return ctx
  }

  async #conclude(row: OperationRow, { cancelled = false, result, content, resource, cost }: Outcome): Promise<void> {
    await transition(this.#engine, (tx) =>
      operations.leave(tx, row.id, this.#engine.processId, cancelled ? 'cancelled' : 'succeeded', {
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

  async #fail(row: OperationRow, error: unknown): Promise<void> {
    const refusal =
      error instanceof Refusal
        ? error
        : new Refusal('internal_error', {
            message: `Something went wrong on our side. If you report it, include the operation ID ${row.id}.`,
          })
    if (refusal !== error) this.#engine.log.error({ error, operation: row.id, kind: row.kind }, 'an operation failed')
    await this.#endFailed(row, this.#engine.processId, errorBody(refusal).error)
  }

  #endFailed(row: OperationRow, processId: Id, error: ErrorBody['error']): Promise<OperationRow | null> {
    return transition(this.#engine, (tx) =>
      operations.leave(tx, row.id, processId, 'failed', { error: JSON.stringify(error) }),
    )
  }

  /** Handles an operation whose process stopped: queues it again if its kind allows another attempt, else ends it. */
  async #retryOrEnd(row: OperationRow, processId: Id): Promise<void> {
    const kind = this.#kinds.get(row.kind)
    if (!kind?.repeatable || row.attempts >= kind.attempts) {
      await this.#endFailed(row, processId, {
        type: 'unavailable',
        code: 'interrupted',
        message: 'The server stopped while this was running.',
      })
      return
    }
    await transition(this.#engine, async (tx) => {
      const queued = await operations.leave(tx, row.id, processId, 'queued')
      if (queued) await this.#addJob(tx, row)
      return queued
    })
  }

  #addJob(db: Db, row: Pick<OperationRow, 'id' | 'kind' | 'input'>): Promise<void> {
    const host = this.#kinds.get(row.kind)?.host(row.input as object) ?? null
    return this.#engine.jobs.add({ db }, jobOf(host), { id: row.id }, { key: jobKey(row.id) })
  }

  async #sweep(): Promise<void> {
    const { db } = this.#engine.postgres
    const ended = await db.transaction().execute(async (tx) => {
      const rows = [...(await operations.endCancelled(tx, GRACE_SECONDS + 1)), ...(await operations.endExpired(tx))]
      for (const row of rows) await tell(tx, row)
      return rows
    })
    if (ended.length > 0) wake(this.#engine)
    for (const row of await operations.orphans(db, this.#engine.processId))
      if (!this.#ids.has(row.id)) await this.#retryOrEnd(row, row.process_id!)
    for (const row of await operations.jobless(db)) await this.#addJob(db, row)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#sweepTimer)
    this.#closing.abort(new Refusal('shutting_down'))
    await Promise.all([this.#sweeping, ...this.#running])
  }
}

const isStopping = (error: unknown): boolean => error instanceof Refusal && error.code === 'shutting_down'

/** Checks the rights again: the account may have lost its role or the workspace while the operation was queued. */
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

/** Rejects `ms` after the signal fires, so that an operation that ignores the signal ends as well. */
function after(signal: AbortSignal, ms: number): Disposable & { passed: Promise<never> } {
  const { promise, reject } = Promise.withResolvers<never>()
  let timer: NodeJS.Timeout | null = null
  const start = (): void => void (timer ??= setTimeout(() => reject(new Error('it did not stop in time')), ms))
  if (signal.aborted) start()
  else signal.addEventListener('abort', start, { once: true })
  // The race may be over when it rejects.
  promise.catch(() => {})
  return {
    passed: promise,
    [Symbol.dispose]() {
      signal.removeEventListener('abort', start)
      if (timer) clearTimeout(timer)
    },
  }
}
