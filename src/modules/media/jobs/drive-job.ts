import type { Context } from '#infra/context.ts'
import type { MeteredCall } from '#infra/ledger/ledger.ts'
import type { MediaRequest } from '#gateway/media/adapter.ts'
import { mediaRefusal } from '#gateway/media/fate.ts'
import type { MediaCandidate } from '#gateway/media/gateway.ts'
import { amountToHold } from '#gateway/media/cost/limits.ts'
import type { MediaOffer } from '#gateway/model/offer.ts'
import { Refusal, refuse } from '#core/errors.ts'
import { newId } from '#core/ids.ts'
import { actingIn } from '#core/principal.ts'
import { type Inputs, requestFor } from '../ask.ts'
import type { HasMediaGateway } from '../handles.ts'
import { anotherMay, resolveVoice } from '../resolve-voice.ts'
import { inputsOf } from '../sources.ts'
import { discard } from './collect.ts'
import { finish, settle } from './finish.ts'
import { type Driving, JobLeft, type PartEnd } from './part-end.ts'
import { actingNow } from './rights-now.ts'
import { type PartRunner, follow, runPart, unclear } from './run-part.ts'
import { type StoredOffer, type MediaJob, type Part, mediaJobs } from './store.ts'

/**
 * Drives a claimed job from any state to its end, and returns its final row. Nothing is sent to a vendor twice. Throws
 * `JobLeft` if another process must continue, and any error that prevents the start.
 */
export async function driveJob(ctx: Context<HasMediaGateway>, job: MediaJob, driving: Driving): Promise<MediaJob> {
  const { db } = ctx.engine.postgres
  if (job.status === 'waiting') await begin(ctx, job, driving)
  else if (job.status === 'sent') await resume(ctx, job, driving)
  const finalJob = (await mediaJobs.get(db, job.id)) ?? notFound()
  if (finalJob.status === 'made') await settle(ctx.engine, finalJob)
  else await mediaJobs.forgetInputs(db, job.id)
  return finalJob
}

const notFound = (): never => refuse('not_found', { message: 'The call no longer exists.' })

/** Tries the candidates in order until one accepts. */
async function begin(ctx: Context<HasMediaGateway>, job: MediaJob, driving: Driving): Promise<void> {
  const { engine, principal } = ctx
  const inputs = inputsOf(engine, await mediaJobs.inputs(engine.postgres.db, job.id))
  let refusal: unknown = null
  const { mediaGateway } = engine
  const kind = job.request.request.kind
  const acting = actingIn(principal, job.workspace_id)
  const candidates = await mediaGateway.candidates(acting, job.payer, { kind, model: job.request.model })
  for (const candidate of candidates) {
    if (driving.cancelled.aborted) return await finish(ctx, job, null, [{ end: 'cancelled', cost: 'nothing' }])
    if (driving.leaving.aborted) throw new JobLeft()
    let ends: PartEnd[] | null
    try {
      ends = await tryCandidate(ctx, job, candidate, inputs, driving)
    } catch (error) {
      if (!anotherMay(error)) throw error
      refusal ??= error
      continue
    }
    if (ends === null) return
    const [first] = ends
    refusal = first?.end === 'elsewhere' ? first.error : null
  }
  const error = refusal instanceof Refusal ? refusal : mediaRefusal(refusal)
  await finish(ctx, job, null, [{ end: 'failed', error, cost: 'nothing' }])
}

/** The operation was canceled just before its request was sent. */
class CancelledBefore extends Error {}

/** Null: done. Otherwise the failures, and the next candidate may be tried. */
async function tryCandidate(
  ctx: Context<HasMediaGateway>,
  job: MediaJob,
  candidate: MediaCandidate,
  inputs: Inputs,
  driving: Driving,
): Promise<PartEnd[] | null> {
  const { engine } = ctx
  const { ledger, postgres, processId, mediaGateway } = engine
  const { offer } = candidate
  const request = await resolveVoice(engine, candidate, job.request)
  const most = requestFor(request, offer.upstreamModel, inputs, countIn(job))
  const call = callOf(job, offer)
  const worst = amountToHold(most, offer, ledger.isGuarded(job.payer, offer.endpoint.billing))
  await ledger.reserve(call, worst)
  const parts = partsOf(countIn(job), most.kind === 'image' ? mediaGateway.mostImages(offer) : 1)
  const submission = { call, offer: withoutEndpoint(offer), reserved: worst, parts }
  try {
    await postgres.db.transaction().execute(async (tx) => {
      await ledger.outlive(tx, call.id)
      if (!(await mediaJobs.send(tx, job.id, processId, submission))) throw new JobLeft()
      // Checked after the write, so a later cancellation sees the job as sent.
      if (job.operation_id !== null && (await mediaJobs.isCancelled(tx, job.operation_id))) throw new CancelledBefore()
    })
  } catch (error) {
    ledger.release(call)
    if (error instanceof CancelledBefore) {
      await finish(ctx, job, null, [{ end: 'cancelled', cost: 'nothing' }])
      return null
    }
    throw error
  }
  const sentJob: MediaJob = {
    ...job,
    request,
    call,
    offer: submission.offer,
    reserved_nano: worst,
    parts,
    status: 'sent',
  }
  const ends = await runParts(ctx, sentJob, offer, inputs, driving, (runner, part, request) => {
    const maker = mediaGateway.makerOf(offer, request.kind, job.account_id)!
    return runPart(runner, maker, request, part)
  })
  if (ends.every(({ end }) => end === 'elsewhere')) {
    ledger.release(call)
    await ledger.flush()
    await mediaJobs.unsend(postgres.db, job.id)
    return ends
  }
  await finish(ctx, sentJob, most, ends)
  return null
}

/** Continues jobs known at the vendor. Requests without a known job have an unknown outcome. */
async function resume(ctx: Context<HasMediaGateway>, job: MediaJob, driving: Driving): Promise<void> {
  const { engine, principal } = ctx
  const { mediaGateway, postgres } = engine
  const inputs = inputsOf(engine, await mediaJobs.inputs(postgres.db, job.id))
  const storedOffer = job.offer!
  const acting = actingIn(principal, job.workspace_id)
  const offer = await mediaGateway.again(acting, { slug: storedOffer.slug, endpointId: storedOffer.endpoint.id })
  const most = requestFor(job.request, storedOffer.upstreamModel, inputs, countIn(job))
  const ends =
    offer === null
      ? job.parts.map(() => unclear(null))
      : await runParts(ctx, job, offer, inputs, driving, (runner, part, request) => {
          const maker = mediaGateway.makerOf(offer, request.kind, job.account_id)
          if (part.job === null || maker?.how !== 'deferred') return Promise.resolve(unclear(null))
          return follow(runner, maker, request, part)
        })
  await finish(ctx, job, most, ends)
}

/** In parallel. If a part is left to another process, all are: their vendor jobs are recorded. */
async function runParts(
  ctx: Context<HasMediaGateway>,
  job: MediaJob,
  offer: MediaOffer,
  inputs: Inputs,
  driving: Driving,
  run: (runner: PartRunner, part: Part, request: MediaRequest) => Promise<PartEnd>,
): Promise<PartEnd[]> {
  const { engine } = ctx
  const again = async (): Promise<MediaOffer | null> => {
    const now = await actingNow(engine, job, driving.leaving)
    if (now === null) return null
    const acting = actingIn(now.principal, job.workspace_id)
    return engine.mediaGateway.again(acting, { slug: offer.slug, endpointId: offer.endpoint.id })
  }
  const results = await Promise.allSettled(
    job.parts.map((part, place) => {
      const runner: PartRunner = {
        engine,
        gateway: engine.mediaGateway,
        offer,
        account: job.account_id,
        party: `${job.account_id} media ${job.id} ${place}`,
        driving,
        again,
        recordStart: (startedPart) => mediaJobs.begun(engine.postgres.db, job.id, place, startedPart),
      }
      return run(runner, part, requestFor(job.request, offer.upstreamModel, inputs, part.n))
    }),
  )
  const rejections = results.filter((one): one is PromiseRejectedResult => one.status === 'rejected')
  if (rejections.length === 0) return results.map((one) => (one as PromiseFulfilledResult<PartEnd>).value)
  for (const one of results)
    if (one.status === 'fulfilled' && one.value.end === 'delivered') await discard(one.value.collected.files)
  throw (rejections.find(({ reason }) => !(reason instanceof JobLeft)) ?? rejections[0]!).reason
}

const countIn = ({ request: { request } }: MediaJob): number => (request.kind === 'image' ? request.n : 1)

function partsOf(count: number, most: number): Part[] {
  const parts: Part[] = []
  for (let remaining = count; remaining > 0; remaining -= most)
    parts.push({ n: Math.min(remaining, most), job: null, losses: [] })
  return parts
}

const callOf = (job: MediaJob, { slug, endpoint }: MediaOffer): MeteredCall => ({
  // Each candidate is metered as its own call.
  id: newId(),
  payer: job.payer,
  surface: 'inference',
  model: slug,
  provider: endpoint.slug,
  endpointId: endpoint.id,
  billing: endpoint.billing,
  startedAt: new Date(),
})

const withoutEndpoint = (offer: MediaOffer): StoredOffer => ({
  slug: offer.slug,
  upstreamModel: offer.upstreamModel,
  contextLength: offer.contextLength,
  maxOutputTokens: offer.maxOutputTokens,
  capabilities: offer.capabilities,
  pricing: offer.pricing,
  priceSource: offer.priceSource,
  priceDate: offer.priceDate,
  media: offer.media,
  endpoint: { id: offer.endpoint.id, slug: offer.endpoint.slug, billing: offer.endpoint.billing },
})
