import { type ReadableFile, readableFile } from '#modules/drive/service.ts'
import type { Context, Engine } from '#infra/context.ts'
import { type Schedule, every } from '#infra/jobs/schedules.ts'
import type { ShelvedVideo, VideoShelf } from '#gateway/request/video-shelf.ts'
import { Refusal, refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { type Principal, behalfOf } from '#core/principal.ts'
import type { HasMediaGateway } from './handles.ts'
import { type PassingVideo, passingVideos } from './jobs/passing-videos.ts'

/** Permissions of compat-a's video endpoints. */
const SCOPES = ['inference:run', 'operation:read', 'operation:write', 'drive:read', 'drive:write']

type Ctx = Context<HasMediaGateway>

interface OperationView {
  status: 'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled' | 'expired'
  progress: number | null
  result: { files?: { id: Id; mime_type: string }[] } | null
  error: { type: string; code?: string; message: string } | null
  completed_at: string | null
}

const states: Readonly<Record<OperationView['status'], ShelvedVideo['status']>> = {
  queued: 'queued',
  running: 'in_progress',
  succeeded: 'completed',
  failed: 'failed',
  cancelled: 'failed',
  expired: 'failed',
}

/** Compat-a videos are `inference.videos` operations whose files are kept for one day. */
export function createVideoShelf(engine: Engine<HasMediaGateway>): VideoShelf {
  const { db } = engine.postgres

  /** Acts as the key's account, within the key's workspace. */
  async function onBehalf(principal: Principal, signal = new AbortController().signal): Promise<Ctx> {
    const { account_id: accountId, key_id: payingKeyId, held_to: workspaceId } = behalfOf(principal)
    const ctx = await engine.actAs({ accountId, scopes: SCOPES, workspaceId, payingKeyId, consented: true, signal })
    return ctx ?? refuse('not_found')
  }

  async function showVideo(ctx: Ctx, row: PassingVideo): Promise<ShelvedVideo> {
    const { status, progress, error, completed_at } = await operationOf(ctx, row.operation_id)
    const { request } = row.request
    const video = request.kind === 'video' ? request : refuse('not_found')
    const size = video.size === null ? null : `${video.size.width}x${video.size.height}`
    const why = error ?? { type: status, message: `The video’s status is ${status}.` }
    return {
      id: row.operation_id,
      model: row.request.model,
      prompt: video.prompt,
      seconds: video.seconds,
      size,
      status: states[status],
      progress: progress ?? 0,
      error: states[status] === 'failed' ? { code: why.code ?? why.type, message: why.message } : null,
      createdAt: row.created_at,
      completedAt: completed_at === null ? null : new Date(completed_at),
      expiresAt: completed_at === null ? null : new Date(Date.parse(completed_at) + KEPT_MS),
    }
  }

  async function fileOf(ctx: Ctx, row: PassingVideo): Promise<{ id: Id; mime_type: string } | null> {
    return (await operationOf(ctx, row.operation_id)).result?.files?.[0] ?? null
  }

  const own = (principal: Principal, id: string): Promise<PassingVideo | null> => {
    const { account_id, held_to } = behalfOf(principal)
    return passingVideos.get(db, id, { account_id, held_to })
  }

  return {
    async begin(principal, { model, prompt, seconds, size, reference }, signal) {
      const ctx = await onBehalf(principal, signal)
      const reply = (await ctx.invoke('inference.videos', {
        model,
        prompt,
        ...(seconds !== null && { seconds }),
        ...(size !== null && { size }),
        ...(reference !== null && {
          image: { kind: 'base64', media_type: reference.type, data: reference.bytes.toString('base64') },
        }),
      })) as { operation: { id: Id } }
      await passingVideos.mark(db, reply.operation.id)
      return showVideo(ctx, (await own(principal, reply.operation.id))!)
    },
    async get(principal, id) {
      const row = await own(principal, id)
      return row === null ? null : showVideo(await onBehalf(principal), row)
    },
    async list(principal, page) {
      const { account_id, held_to } = behalfOf(principal)
      const rows = await passingVideos.list(db, { account_id, held_to }, page)
      const ctx = await onBehalf(principal)
      return Promise.all(rows.map((row) => showVideo(ctx, row)))
    },
    async content(principal, id) {
      const row = await own(principal, id)
      if (row === null) return null
      const ctx = await onBehalf(principal)
      const file = await fileOf(ctx, row)
      const readable: ReadableFile | null = file && (await readableFile(ctx, file.id, 'video_id').catch(ignoreMissing))
      return readable && { type: file!.mime_type, size: readable.size, bytes: readable.read(0) }
    },
    async remove(principal, id) {
      const row = await own(principal, id)
      if (row === null) return false
      await drop(await onBehalf(principal), row, fileOf)
      return true
    },
  }
}

const operationOf = async (ctx: Ctx, id: Id): Promise<OperationView> =>
  (await ctx.invoke('operations.get', { id })) as OperationView

function ignoreMissing(error: unknown): null {
  if (error instanceof Refusal && error.status === 404) return null
  throw error
}

/** Cancels the operation and permanently deletes its file. */
async function drop(
  ctx: Ctx,
  row: PassingVideo,
  fileOf: (ctx: Ctx, row: PassingVideo) => Promise<{ id: Id } | null>,
): Promise<void> {
  const { status } = await operationOf(ctx, row.operation_id)
  if (status === 'queued' || status === 'running') await ctx.invoke('operations.cancel', { id: row.operation_id })
  const file = await fileOf(ctx, row)
  if (file !== null)
    for (const name of ['drive.trash', 'drive.permanent_delete'])
      await ctx.invoke(name, { id: file.id }).catch(ignoreMissing)
  await passingVideos.unmark(ctx.engine.postgres.db, row.operation_id)
}

const KEPT_MS = 24 * 3_600_000

export const videoShelfSchedules = (engine: Engine<HasMediaGateway>): Schedule[] => [
  every('media.passing_videos', 600, async ({ signal }) => {
    for (const row of await passingVideos.due(engine.postgres.db, new Date(Date.now() - KEPT_MS))) {
      if (signal.aborted) return
      const { account_id: accountId, held_to: workspaceId, key_id: payingKeyId } = row
      const ctx = await engine.actAs({ accountId, scopes: SCOPES, workspaceId, payingKeyId, consented: true, signal })
      try {
        if (ctx === null) await passingVideos.unmark(engine.postgres.db, row.operation_id)
        else
          await drop(
            ctx,
            row,
            async (by, { operation_id: id }) => (await operationOf(by, id)).result?.files?.[0] ?? null,
          )
      } catch (error) {
        engine.log.warn({ error, operation: row.operation_id }, 'an expired video could not be removed')
      }
    }
  }),
]
