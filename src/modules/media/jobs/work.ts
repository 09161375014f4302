import type { Context } from '#infra/context.ts'
import type { Log } from '#infra/log.ts'
import type { Id } from '#core/ids.ts'
import type { HasMediaGateway } from '../handles.ts'
import { driveJob } from './drive-job.ts'
import { type MediaJob, mediaJobs } from './store.ts'

/** A job driven by this process while a request waits. */
export interface InlineJob {
  completion: Promise<MediaJob>
  cancel(): void
  /** Leaves the vendor's job to another process. `completion` then rejects with `JobLeft`. */
  leave(): void
}

/** Jobs of waiting requests. They continue if the caller disconnects, so billed results are kept. */
export class MediaWork implements AsyncDisposable {
  readonly #log: Log
  readonly #jobs = new Map<Id, InlineJob>()

  constructor(log: Log) {
    this.#log = log
  }

  start(ctx: Context<HasMediaGateway>, job: MediaJob): InlineJob {
    const cancellation = new AbortController()
    const leaving = new AbortController()
    const completion = driveJob(ctx, job, {
      cancelled: cancellation.signal,
      leaving: leaving.signal,
      progress() {},
    })
      .catch(async (error: unknown) => {
        // Released: dropped or continued by another process.
        const { postgres, processId } = ctx.engine
        await mediaJobs.leave(postgres.db, job.id, processId, null).catch(() => {})
        throw error
      })
      .finally(() => this.#jobs.delete(job.id))
    // The caller may have disconnected.
    completion.catch((error: unknown) => this.#log.debug({ error, media_job: job.id }, 'a media call had no result'))
    const inline: InlineJob = { completion, cancel: () => cancellation.abort(), leave: () => leaving.abort() }
    this.#jobs.set(job.id, inline)
    return inline
  }

  /** Leaves vendor jobs to other processes. Immediate requests are awaited up to `LATE_MS`. */
  async [Symbol.asyncDispose](): Promise<void> {
    const all = [...this.#jobs.values()]
    for (const job of all) job.leave()
    const late = new Promise<void>((resolve) => setTimeout(resolve, LATE_MS).unref())
    await Promise.race([Promise.allSettled(all.map(({ completion }) => completion)), late])
  }
}

/** The server has already drained its requests when it stops. */
const LATE_MS = 2_000
