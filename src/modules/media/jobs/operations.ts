import { setTimeout as sleep } from 'node:timers/promises'
import {
  type OperationKind,
  type Outcome,
  type Running,
  defineOperation,
  startOperation,
} from '#modules/operations/service.ts'
import type { Context, Engine } from '#infra/context.ts'
import { type Schedule, every } from '#infra/jobs/schedules.ts'
import type { MediaKind } from '#gateway/media/adapter.ts'
import type { Background } from '#core/answers.ts'
import { Refusal, codes, refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import type { HasMediaGateway } from '../handles.ts'
import { driveJob } from './drive-job.ts'
import { JobLeft } from './part-end.ts'
import { actingNow } from './rights-now.ts'
import { type StoredError, type MediaJob, mediaJobs } from './store.ts'

interface Input {
  jobId: Id
}

/** The lease of a dead process expires within this time. */
const LEASE_MS = 40_000
const AGAIN_MS = 1_000

/** Repeatable in any state, because the row records what was sent to a vendor. */
const kind = (name: string): OperationKind<Input, HasMediaGateway> =>
  defineOperation<Input, HasMediaGateway>(name, (ctx, { jobId }, running) => goOn(ctx, jobId, running), {
    repeatable: true,
    attempts: 10_000,
    scope: 'inference:run',
  })

const kinds: Readonly<Record<MediaKind, OperationKind<Input, HasMediaGateway>>> = {
  image: kind('inference.images'),
  video: kind('inference.videos'),
  speech: kind('inference.speech'),
  transcription: kind('inference.transcriptions'),
}
export const mediaOperations = Object.values(kinds)

/** Creates the operation that drives the job from here. Uses the caller's transaction, if any. */
export async function showAsOperation(
  ctx: Context<HasMediaGateway>,
  job: Pick<MediaJob, 'id' | 'kind' | 'workspace_id'>,
): Promise<Background> {
  return ctx.transaction(async (tx) => {
    const background = await startOperation(
      tx,
      kinds[job.kind],
      { jobId: job.id },
      { workspaceId: job.workspace_id, isAccepted: true },
    )
    if (!(await mediaJobs.showBy(tx.db, job.id, background.operation.id)))
      refuse('invalid_state', { message: 'Another operation already returned this result.' })
    return background
  })
}

async function goOn(
  ctx: Context<HasMediaGateway>,
  jobId: Id,
  { signal, cancelled, progress }: Running,
): Promise<Outcome> {
  const { postgres, processId } = ctx.engine
  const job = await claimJob(ctx, jobId, signal)
  const leaving = new AbortController()
  const onSignal = (): void => void (cancelled.aborted || leaving.abort())
  signal.addEventListener('abort', onSignal, { once: true })
  if (signal.aborted) onSignal()
  try {
    const endedJob =
      job.status === 'over' ? job : await driveJob(ctx, job, { cancelled, leaving: leaving.signal, progress })
    return outcomeOf(endedJob)
  } catch (error) {
    if (error instanceof JobLeft) throw new Refusal('shutting_down')
    throw error
  } finally {
    signal.removeEventListener('abort', onSignal)
    await mediaJobs.leave(postgres.db, jobId, processId, null)
  }
}

async function claimJob(ctx: Context<HasMediaGateway>, jobId: Id, signal: AbortSignal): Promise<MediaJob> {
  const { postgres, processId } = ctx.engine
  const until = performance.now() + LEASE_MS
  for (;;) {
    const job = await mediaJobs.claim(postgres.db, jobId, processId)
    if (job !== null) return job
    if ((await mediaJobs.get(postgres.db, jobId)) === null)
      return refuse('not_found', { message: 'The call no longer exists.' })
    if (performance.now() > until) return refuse('unavailable', { message: 'Another server process is working on it.' })
    await sleep(AGAIN_MS, undefined, { signal })
  }
}

function outcomeOf({ result, error, outcome, kind: mediaKind }: MediaJob): Outcome {
  if (error !== null) throw refusalOf(error)
  const answer = result as { files: { id: Id }[]; text?: string } | null
  if (answer === null) return { cancelled: true }
  const [first] = answer.files
  return {
    result: answer,
    cost: outcome?.cost ?? null,
    ...(first && { resource: { type: 'file', id: first.id }, content: { fileId: first.id } }),
    ...(mediaKind === 'transcription' && { content: { type: 'text/plain; charset=utf-8', text: answer.text ?? '' } }),
  }
}

const knownCodes: ReadonlySet<string> = new Set(codes)

export function refusalOf({ type, code = type, message, param, details, headers }: StoredError): Refusal {
  return new Refusal(knownCodes.has(code) ? (code as Refusal['code']) : 'internal_error', {
    message,
    ...(param !== undefined && { param }),
    ...(details && { details }),
    ...(headers && { headers }),
  })
}

/** Adopts jobs whose process or operation ended first. */
export const mediaSchedules = (engine: Engine<HasMediaGateway>): Schedule[] => [
  every('media.orphans', 10, ({ signal }) => adopt(engine, signal)),
  every('media.retain', 3600, () => mediaJobs.retain(engine.postgres.db)),
]

async function adopt(engine: Engine<HasMediaGateway>, signal: AbortSignal): Promise<void> {
  const { postgres, processId, log } = engine
  for (const { id, status, operation_id: operationId } of await mediaJobs.orphans(postgres.db)) {
    if (signal.aborted) return
    // Nothing was sent, and no caller waits.
    if (status === 'waiting') {
      await mediaJobs.drop(postgres.db, id)
      continue
    }
    const job = await mediaJobs.claim(postgres.db, id, processId)
    if (job === null) continue
    try {
      const ctx = await actingNow(engine, job, signal)
      if (ctx === null) continue
      if (operationId === null) {
        await mediaJobs.leave(postgres.db, id, processId, null)
        await showAsOperation(ctx, job)
      } else {
        // Its operation was canceled or expired while no process worked on it.
        const cancelled = AbortSignal.abort()
        await driveJob(ctx, job, { cancelled, leaving: signal, progress() {} })
      }
    } catch (error) {
      log.warn({ error, media_job: id }, 'an abandoned media call could not be finished')
    } finally {
      await mediaJobs.leave(postgres.db, id, processId, null)
    }
  }
}
