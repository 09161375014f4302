import type { Context } from '#infra/context.ts'
import type { Log } from '#infra/log.ts'
import type { Id } from '#core/ids.ts'
import type { HasMediaGateway } from '../handles.ts'
import { driveJob } from './drive-job.ts'
import { type MediaJob, mediaJobs } from './store.ts'

/** A job that this process works on for a request that waits. */
export interface InlineJob {
  ended: Promise<MediaJob>
  /** Cancels the job: nobody wants it any more. */
  cancel(): void
  /**
   * Leaves the job: work that is begun at a vendor goes on elsewhere, and `ended` rejects with `JobLeft` as soon as it
   * can.
   */
  leave(): void
}

/** The jobs of requests that wait in this process. They go on when their caller leaves: what is paid for is kept. */
export class MediaWork implements AsyncDisposable {
  readonly #log: Log
  readonly #jobs = new Map<Id, InlineJob>()

  constructor(log: Log) {
    this.#log = log
  }

  start(ctx: Context<HasMediaGateway>, job: MediaJob): InlineJob {
    const cancelled = new AbortController()
    const leaving = new AbortController()
    const ended = driveJob(ctx, job, {
      cancelled: cancelled.signal,
      leaving: leaving.signal,
      progress() {},
    })
      .catch(async (error: unknown) => {
        // Not this process's any more: it is dropped, or goes on, wherever it is found.
        const { postgres, processId } = ctx.engine
        await mediaJobs.leave(postgres.db, job.id, processId, null).catch(() => {})
        throw error
      })
      .finally(() => this.#jobs.delete(job.id))
    // Who waited for it may have left.
    ended.catch((error: unknown) => this.#log.debug({ error, media_job: job.id }, 'a media call had no result'))
    const inline: InlineJob = { ended, cancel: () => cancelled.abort(), leave: () => leaving.abort() }
    this.#jobs.set(job.id, inline)
    return inline
  }

  /** Leaves work that is begun at a vendor to another process; a request whose answer is its result is waited for. */
  async [Symbol.asyncDispose](): Promise<void> {
    const all = [...this.#jobs.values()]
    for (const job of all) job.leave()
    const late = new Promise<void>((resolve) => setTimeout(resolve, LATE_MS).unref())
    await Promise.race([Promise.allSettled(all.map(({ ended }) => ended)), late])
  }
}

/** A server that stops has drained its requests before: what is left of them is cut off. */
const LATE_MS = 2_000
