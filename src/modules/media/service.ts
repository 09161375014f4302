import { checkGeneratedTarget } from '#modules/drive/service.ts'
import { type HasOperationWatch, checkOperationRoom } from '#modules/operations/service.ts'
import { keepBlob } from '#infra/blobs/keep.ts'
import type { Context } from '#infra/context.ts'
import { payerOf } from '#infra/ledger/payer.ts'
import { lossesHeader } from '#gateway/translation/losses-header.ts'
import type { Background } from '#core/answers.ts'
import type { Input, Output } from '#core/contract.ts'
import { refuse } from '#core/errors.ts'
import { type Id, newId } from '#core/ids.ts'
import { actingIn, behalfOf } from '#core/principal.ts'
import { type AskWithSources, parseImages, kindOf, parseSpeech, parseTranscription, parseVideo } from './ask.ts'
import type { mediaEndpoints } from './contract.ts'
import type { HasMediaGateway } from './handles.ts'
import { refusalOf, showAsOperation } from './jobs/operations.ts'
import { JobLeft } from './jobs/part-end.ts'
import { type MediaJob, mediaJobs } from './jobs/store.ts'
import type { MediaWork } from './jobs/work.ts'
import { checkPayable } from './money/payable.ts'
import { type ReadSource, inputsOf, readSources } from './sources.ts'
import { modelFor } from './own-voice.ts'
import { streamSpeech } from './speech/stream.ts'
import { checkVoice } from './resolve-voice.ts'

export { mediaOperations, mediaSchedules } from './jobs/operations.ts'
export { MediaWork } from './jobs/work.ts'
export { createVideoShelf, videoShelfSchedules } from './video-shelf.ts'

export interface MediaHandles extends HasMediaGateway, HasOperationWatch {
  mediaWork: MediaWork
}

type Of<K extends keyof typeof mediaEndpoints> = Input<(typeof mediaEndpoints)[K]>
type ReplyOf<K extends keyof typeof mediaEndpoints> = Promise<Output<(typeof mediaEndpoints)[K]>>
type Ctx = Context<MediaHandles>

export const mediaHandlers = {
  images: (ctx: Ctx, input: Of<'images'>) => run(ctx, parseImages(input), input.background) as ReplyOf<'images'>,
  videos: (ctx: Ctx, input: Of<'videos'>) => run(ctx, parseVideo(input), true) as ReplyOf<'videos'>,
  speech: async (ctx: Ctx, input: Of<'speech'>) =>
    (await run(ctx, parseSpeech(input, await modelFor(ctx, input)), input.background)) as Awaited<ReplyOf<'speech'>>,
  speech_stream: streamSpeech,
  transcriptions: (ctx: Ctx, input: Of<'transcriptions'>) =>
    run(ctx, parseTranscription(input), input.background) as ReplyOf<'transcriptions'>,
}

async function run(ctx: Ctx, input: AskWithSources, background: boolean): Promise<unknown> {
  const workspaceId = ctx.workspace!.id
  const { ask, sources } = input
  const { principal, engine } = ctx
  const { credential } = principal
  const kind = kindOf(ask)
  // An operation outlives the run and wouldn't count toward its budgets.
  if (background && kind !== 'video' && credential.kind === 'server' && credential.run !== undefined)
    refuse('invalid_parameter', { param: 'background', message: '`background` isn’t available within a run.' })
  const payer = payerOf(principal, workspaceId)
  // Refuses early, before fetching anything.
  if (background) await checkOperationRoom(ctx)
  if (kind !== 'transcription') await checkGeneratedTarget(ctx, { workspaceId, folderId: ask.folderId })
  else if (sources.length === 0 && ctx.upload === null)
    refuse('missing_parameter', { param: 'audio', message: 'Send `audio`, or the part `file` of a form.' })
  const acting = actingIn(principal, workspaceId)
  const candidates = await engine.mediaGateway.candidates(acting, payer, { kind, model: ask.model })
  await checkVoice(engine, candidates, ask)
  const inputs = await readSources(ctx, sources)
  let job: MediaJob
  let operation: Background | null
  try {
    // An inline call reserves before it responds.
    if (background) await checkPayable(engine, { ask, payer, inputs: inputsOf(engine, inputs) }, candidates)
    ;({ job, shown: operation } = await ctx.transaction(async (tx) => {
      for (const { staged } of inputs) if (staged !== null) await keepBlob(tx, staged)
      const job = await mediaJobs.insert(
        tx.db,
        {
          id: newId(),
          ...behalfOf(principal),
          workspace_id: workspaceId,
          operation_id: null,
          process_id: background ? null : engine.processId,
          kind,
          request: ask,
          payer,
        },
        inputs.map(({ field, place, sha256, name, facts }) => ({ field, place, sha256, name, facts })),
      )
      return { job, shown: background ? await showAsOperation(tx, job) : null }
    }))
  } catch (error) {
    await discardAll(inputs)
    throw error
  }
  if (operation !== null) return operation
  return inline(ctx, job, candidates[0]!.seed)
}

async function discardAll(inputs: readonly ReadSource[]): Promise<void> {
  for (const { staged } of inputs) await staged?.discard().catch(() => {})
}

/** Waits for the job. After a disconnect or timeout, a job that was sent becomes an operation. */
async function inline(ctx: Ctx, job: MediaJob, seed: number): Promise<unknown> {
  const { engine } = ctx
  const running = engine.mediaWork.start(ctx, job)
  const leaveController = new AbortController()
  // After `inlineMs`, the response is the operation.
  const timer = setTimeout(() => leaveController.abort(), engine.config.inlineMs)
  const onDisconnect = (): void => leaveController.abort(ctx.signal.reason)
  ctx.signal.addEventListener('abort', onDisconnect, { once: true })
  if (ctx.signal.aborted) onDisconnect()
  try {
    const departure = new Promise<'gone'>((resolve) =>
      leaveController.signal.addEventListener('abort', () => resolve('gone'), { once: true }),
    )
    const first = await Promise.race([running.completion, departure])
    if (first !== 'gone') return toReply(ctx, first, seed)
    return await handOver(ctx, job.id, running)
  } finally {
    clearTimeout(timer)
    ctx.signal.removeEventListener('abort', onDisconnect)
  }

  async function handOver(ctx: Ctx, id: Id, { leave, completion }: typeof running): Promise<unknown> {
    const { db } = engine.postgres
    leave()
    try {
      return toReply(ctx, await completion, seed)
    } catch (error) {
      if (!(error instanceof JobLeft)) throw error
    }
    const now = await mediaJobs.get(db, id)
    await mediaJobs.leave(db, id, engine.processId, null)
    // Nothing was sent, and the caller disconnected.
    if (now?.status === 'waiting' && ctx.signal.aborted) {
      await mediaJobs.drop(db, id)
      throw ctx.signal.reason
    }
    return await showAsOperation(ctx, job)
  }
}

function toReply(ctx: Ctx, { result, error, offer }: MediaJob, seed: number): unknown {
  if (offer !== null) ctx.answer.headers['x-uk-route'] = `provider=${offer.endpoint.slug}; seed=${seed}`
  if (error !== null) throw refusalOf(error)
  if (result === null) return refuse('provider_error', { message: 'The call was canceled.' })
  const { losses } = result as { losses: string[] }
  if (losses.length > 0) ctx.answer.headers['x-uk-losses'] = lossesHeader(losses)
  return result
}
