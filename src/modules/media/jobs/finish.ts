import { checkGeneratedTarget, keepGenerated } from '#modules/drive/service.ts'
import { operationCosts } from '#modules/operations/service.ts'
import type { Context, Engine } from '#infra/context.ts'
import type { MediaRequest, MediaUnits } from '#gateway/media/adapter.ts'
import { asSent, costOf, mediaUsage, worstCase } from '#gateway/media/cost/price.ts'
import type { MediaOffer } from '#gateway/model/offer.ts'
import { Refusal, refuse } from '#core/errors.ts'
import type { Nano } from '#core/money.ts'
import { type CostSource, type Usage, sumUsage, usageOf } from '#core/usage.ts'
import type { HasMediaGateway } from '../handles.ts'
import { answerOf, fileNames } from './answer.ts'
import { type CollectedFile, discard } from './collect.ts'
import { JobLeft, type PartEnd } from './part-end.ts'
import { actingNow } from './rights-now.ts'
import { type MediaJob, type StoredError, type Settlement, toStoredError, mediaJobs } from './store.ts'

type Delivery = Extract<PartEnd, { end: 'delivered' }>

/**
 * Writes a job's files and response, or its error, atomically. `request` null: it was never sent, so nothing is
 * reserved. Throws `JobLeft` if another process was first.
 */
export async function finish(
  ctx: Context<HasMediaGateway>,
  job: MediaJob,
  request: MediaRequest | null,
  ends: readonly PartEnd[],
): Promise<void> {
  const { postgres, processId, ledger, log } = ctx.engine
  const deliveries = ends.filter((end): end is Delivery => end.end === 'delivered')
  const files = deliveries.flatMap(({ collected }) => collected.files)
  const settlement =
    request === null ? null : settlementOf(job, request, ends, ledger.isGuarded(job.payer, job.call!.billing))
  try {
    if (deliveries.length > 0)
      try {
        return await save(ctx, job, settlement!, deliveries, files, ends)
      } catch (error) {
        await discard(files)
        // Generated and billed, but it can't be stored: no space, or the caller lost access.
        if (!(error instanceof Refusal)) throw error
        await endWith(toStoredError(error))
        return
      }
    await endWith(errorOf(ends))
  } catch (error) {
    if (!(error instanceof JobLeft))
      log.error({ error, media_job: job.id }, 'the result of a media call could not be written')
    throw error
  }

  async function endWith(error: StoredError | null): Promise<void> {
    const outcome = settlement
    if (!(await mediaJobs.end(postgres.db, job.id, processId, { outcome, result: null, error }))) throw new JobLeft()
  }
}

async function save(
  ctx: Context<HasMediaGateway>,
  job: MediaJob,
  outcome: Settlement,
  deliveries: readonly Delivery[],
  files: readonly CollectedFile[],
  ends: readonly PartEnd[],
): Promise<void> {
  const { request } = job
  const target = { workspaceId: job.workspace_id, folderId: request.folderId }
  if (files.length > 0) {
    const now =
      (await actingNow(ctx.engine, job, ctx.signal)) ??
      refuse('not_found', { message: 'The account no longer exists.' })
    await checkGeneratedTarget(now, target)
  }
  await ctx.transaction(async (tx) => {
    const names = fileNames(request, files)
    const rows =
      files.length === 0
        ? []
        : await keepGenerated(
            tx,
            target,
            files.map(({ staged, facts }, i) => ({ name: names[i]!, staged, type: facts.type })),
          )
    const result = await answerOf(tx, job, {
      outcome,
      rows,
      files,
      deliveries,
      complete: deliveries.length === ends.length,
    })
    if (!(await mediaJobs.end(tx.db, job.id, tx.engine.processId, { outcome, result, error: null })))
      throw new JobLeft()
  })
}

/** The first failure. Null: canceled. */
function errorOf(ends: readonly PartEnd[]): StoredError | null {
  const failures = ends.filter((end): end is Extract<PartEnd, { error: Refusal }> => 'error' in end)
  // An error that costs money takes precedence.
  const failure = failures.find(({ error }) => error.code === 'outcome_unknown') ?? failures[0]
  return failure === undefined ? null : toStoredError(failure.error)
}

function settlementOf(job: MediaJob, request: MediaRequest, ends: readonly PartEnd[], isGuarded: boolean): Settlement {
  const offer = job.offer as unknown as MediaOffer
  let cost: Nano | null = 0n
  let source: CostSource | null = 'computed'
  const usages: Usage[] = []
  for (const [i, end] of ends.entries()) {
    const one: MediaRequest = request.kind === 'image' ? { ...request, n: job.parts[i]!.n } : request
    const partCost = costOfPart(one, offer, end)
    cost = cost === null || partCost.nano === null ? null : cost + partCost.nano
    source = sourceOf(source, partCost.source)
    usages.push(usageOfPart(one, end))
  }
  const reservedNano = job.reserved_nano
  if (isGuarded && reservedNano !== null && cost !== null && cost > reservedNano) cost = reservedNano
  if (offer.endpoint.billing === 'free') source = 'free'
  const usage = { ...sumUsage(usages), requests: ends.length }
  const any = ends.some(({ end }) => end === 'delivered')
  return {
    status: any ? 'succeeded' : ends.some(({ end }) => end === 'cancelled') ? 'cancelled' : 'failed',
    usage,
    cost,
    costSource: cost === null ? null : source,
    durationMs: Date.now() - job.call!.startedAt.getTime(),
  }
}

const WORTH: readonly (CostSource | null)[] = ['free', 'computed', 'reported', 'estimated']
const sourceOf = (one: CostSource | null, other: CostSource | null): CostSource | null =>
  WORTH.indexOf(one) >= WORTH.indexOf(other) ? one : other

function costOfPart(
  request: MediaRequest,
  offer: MediaOffer,
  end: PartEnd,
): { nano: Nano | null; source: CostSource | null } {
  const worstCost = worstCase(request, offer)
  const reservationCost = { nano: worstCost, source: worstCost === null ? null : ('estimated' as const) }
  switch (end.end) {
    case 'delivered':
      return costOf(asSent(request, end.collected.losses), unitsOf(end), offer, worstCost)
    case 'elsewhere':
      return { nano: 0n, source: 'computed' }
    case 'cancelled':
      return end.cost === 'nothing' ? { nano: 0n, source: 'computed' } : reservationCost
    case 'failed':
      if (end.cost === 'nothing') return { nano: 0n, source: 'computed' }
      if (end.cost === 'held') return reservationCost
      return costOf(request, end.cost === 'asked' ? {} : end.cost, offer, worstCost)
  }
}

/**
 * The billed units. If the vendor doesn't report them, they are computed from the files: image count and size, or
 * duration.
 */
function unitsOf({ collected: { units, files } }: Delivery): MediaUnits {
  const seconds = files.reduce((sum, { facts }) => sum + (facts.durationSeconds ?? 0), 0)
  const [first] = files
  const kind = first?.facts.kind
  return {
    ...(kind === 'image' && {
      images: files.length,
      pixels: files.reduce((sum, { facts }) => sum + (facts.width ?? 0) * (facts.height ?? 0), 0),
    }),
    ...(kind === 'video' && seconds > 0 && { videoSeconds: seconds }),
    ...(kind === 'audio' && seconds > 0 && { audioSeconds: seconds }),
    ...units,
  }
}

function usageOfPart(request: MediaRequest, end: PartEnd): Usage {
  if (end.end === 'delivered') return mediaUsage(request, unitsOf(end))
  if (end.end === 'failed' && end.cost === 'asked') return mediaUsage(request, {})
  return usageOf({})
}

/** Settles the reservation durably. Idempotent. */
export async function settle(
  { ledger, postgres, mediaGateway }: Engine<HasMediaGateway>,
  job: MediaJob,
): Promise<void> {
  const { call, outcome } = job
  if (call !== null && outcome !== null) {
    ledger.settle(call, { ...outcome, finishReason: null, firstTokenMs: null, streamed: false })
    if (job.operation_id !== null && outcome.cost !== null)
      await operationCosts(postgres.db, job.operation_id, outcome.cost)
    await ledger.flush()
    mediaGateway.counted(call.surface, outcome.status)
  }
  await mediaJobs.close(postgres.db, job.id)
}
