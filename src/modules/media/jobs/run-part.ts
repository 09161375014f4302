import {
  MediaFault,
  type DeferredMaker,
  type DeliveredMedia,
  type Immediate,
  type MediaRequest,
  type PollResult,
} from '#gateway/media/adapter.ts'
import { fateOf, mediaRefusal, passes, pollDelayMs } from '#gateway/media/fate.ts'
import type { MediaGateway } from '#gateway/media/gateway.ts'
import { soundAs } from '#gateway/media/sound-as.ts'
import { withLength } from '#gateway/media/transcript/length.ts'
import type { MediaOffer } from '#gateway/model/offer.ts'
import type { Blobs } from '#infra/blobs/blobs.ts'
import type { Media } from '#packages/media-tools/media.ts'
import { Refusal } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { type CollectedMedia, collect } from './collect.ts'
import { type Driving, JobLeft, type PartEnd, wait } from './part-end.ts'
import type { Part } from './store.ts'

export interface PartRunner {
  engine: { media: Media; blobs: Blobs }
  gateway: MediaGateway
  offer: MediaOffer
  account: Id
  /** Separates this call's connections. */
  party: string
  driving: Driving
  /** The current offer, because the key may have changed. Null: the caller may no longer use it. */
  again(): Promise<MediaOffer | null>
  /** Stores the vendor's job. */
  recordStart(part: Part): Promise<void>
}

/** After this, the vendor has lost the request. */
const IMMEDIATE_MS = 590_000
/** Submitting only creates the job. */
const SUBMIT_MS = 120_000
const POLL_MS = 60_000
const CANCEL_MS = 3_000
/** Failed fetches and polls until a job is given up. */
const MAX_FETCHES = 5
const MAX_BLIND = 60

export async function runPart<R extends MediaRequest>(
  runner: PartRunner,
  maker: Immediate<R> | DeferredMaker<R>,
  request: R,
  part: Part,
): Promise<PartEnd> {
  // Canceled before anything was sent.
  if (runner.driving.cancelled.aborted) return { end: 'cancelled', cost: 'nothing' }
  return maker.how === 'immediate' ? runAtOnce(runner, maker, request) : submit(runner, maker, request, part)
}

async function runAtOnce<R extends MediaRequest>(
  runner: PartRunner,
  maker: Immediate<R>,
  request: R,
): Promise<PartEnd> {
  const { gateway, offer, driving } = runner
  const signal = AbortSignal.any([driving.cancelled, AbortSignal.timeout(IMMEDIATE_MS)])
  const startedAt = performance.now()
  using place = gateway.place(signal)
  let result: DeliveredMedia
  try {
    result = withLength(request, await maker.run(gateway.wireTo(offer, runner.party, signal, place), request))
  } catch (error) {
    if (driving.cancelled.aborted) return { end: 'cancelled', cost: 'held' }
    return failPart(runner, error, 'immediate')
  }
  try {
    const delivery = await inRequestedFormat(runner, request, result, signal)
    const collection = await collect(runner.engine, request.kind, delivery, { account: runner.account, signal })
    gateway.succeeded(offer, performance.now() - startedAt)
    return { end: 'delivered', collected: collection }
  } catch (error) {
    if (driving.cancelled.aborted) return { end: 'cancelled', cost: 'held' }
    // It was generated, so it's billed and no other provider is tried.
    if (isFull(error)) return noRoom()
    if (!(error instanceof MediaFault || error instanceof Refusal)) return unclear(error)
    if (error instanceof MediaFault) gateway.failed(offer, error)
    return { end: 'failed', error: mediaRefusal(error), cost: 'asked' }
  }
}

/** Converts audio if the vendor's format differs from the requested one. */
async function inRequestedFormat(
  { engine, account, offer }: PartRunner,
  request: MediaRequest,
  delivery: DeliveredMedia,
  signal: AbortSignal,
): Promise<DeliveredMedia> {
  if (delivery.kind !== 'sound' || request.kind !== 'speech') return delivery
  const comment = offer.endpoint.slug === 'sim' ? { comment: 'Simulated' } : {}
  const sound = await soundAs(delivery.sound, request.format, engine.media.converter, { account, signal, ...comment })
  return { ...delivery, sound }
}

async function submit<R extends MediaRequest>(
  runner: PartRunner,
  maker: DeferredMaker<R>,
  request: R,
  { n }: Part,
): Promise<PartEnd> {
  const { gateway, offer } = runner
  let part: Part
  try {
    const until = AbortSignal.timeout(SUBMIT_MS)
    using place = gateway.place(until)
    const wire = gateway.wireTo(offer, runner.party, until, place)
    part = { n, ...(await maker.submit(wire, request)) }
  } catch (error) {
    return failPart(runner, error, 'deferred')
  }
  await runner.recordStart(part)
  return follow(runner, maker, request, part)
}

function failPart({ gateway, offer }: PartRunner, error: unknown, how: 'immediate' | 'deferred'): PartEnd {
  if (error instanceof MediaFault) gateway.failed(offer, error)
  switch (fateOf(error, how)) {
    case 'elsewhere':
      return { end: 'elsewhere', error: mediaRefusal(error) }
    case 'refused':
      return { end: 'failed', error: mediaRefusal(error), cost: 'nothing' }
    case 'done':
      return { end: 'failed', error: mediaRefusal(error), cost: 'asked' }
    case 'unclear':
      return unclear(error)
  }
}

/** The disk or the bucket quota is full. */
const isFull = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT')

function noRoom(): PartEnd {
  const message =
    'The provider generated the result, which is counted as billed, but this server has no storage space left to keep it.'
  return { end: 'failed', error: new Refusal('storage_full', { message }), cost: 'asked' }
}

export function unclear(error: unknown): PartEnd {
  const why = error instanceof MediaFault ? ` ${error.message}` : ''
  const message = `The connection to the provider failed before it confirmed the request. It isn’t retried, and it’s counted as billed.${why}`
  return { end: 'failed', error: new Refusal('outcome_unknown', { message }), cost: 'held' }
}

/** Polls the vendor's job until it ends. Throws `JobLeft` if another process must continue. */
export async function follow<R extends MediaRequest>(
  runner: PartRunner,
  maker: DeferredMaker<R>,
  request: R,
  part: Part,
): Promise<PartEnd> {
  const { driving, gateway } = runner
  let { offer } = runner
  const job = part.job!
  const pace = offer.endpoint.slug === 'sim' ? 'simulated' : request.kind
  let retryAfterSeconds: number | null = null
  let blind = 0
  let fetches = 0
  for (let round = 0; ; round++) {
    await wait(pollDelayMs(pace, round, retryAfterSeconds, Math.random()), driving)
    if (driving.cancelled.aborted) return cancel(runner, maker, job)
    if (driving.leaving.aborted) throw new JobLeft()
    let pollResult: PollResult
    const until = AbortSignal.timeout(POLL_MS)
    using place = gateway.place(until)
    try {
      offer = (await runner.again()) ?? withdrawn()
      pollResult = await maker.poll(gateway.wireTo(offer, runner.party, until, place), job)
      blind = 0
    } catch (error) {
      if (!passes(error) || ++blind >= MAX_BLIND) return unknownOutcome(error)
      retryAfterSeconds = (error as MediaFault).retryAfterSeconds
      continue
    }
    if (pollResult.status === 'pending') {
      retryAfterSeconds = pollResult.retryAfterSeconds
      if (pollResult.progress !== null) driving.progress(pollResult.progress)
      continue
    }
    if (pollResult.status !== 'done') return endedThere(pollResult)
    try {
      const signal = driving.cancelled
      const delivery = withLength(request, pollResult.delivered)
      const collection: CollectedMedia = await collect(runner.engine, request.kind, delivery, {
        account: runner.account,
        signal,
      })
      gateway.succeeded(offer, 0)
      return { end: 'delivered', collected: { ...collection, losses: [...part.losses, ...collection.losses] } }
    } catch (error) {
      if (driving.cancelled.aborted) return { end: 'cancelled', cost: 'held' }
      if (isFull(error)) return noRoom()
      const again = passes(error) || (error instanceof Refusal && error.code === 'unavailable')
      if (!again || ++fetches >= MAX_FETCHES) return { end: 'failed', error: mediaRefusal(error), cost: 'asked' }
      retryAfterSeconds = error instanceof MediaFault ? error.retryAfterSeconds : null
    }
  }
}

function withdrawn(): never {
  throw new MediaFault(
    'not_found',
    'The provider endpoint was disabled or deleted, or you no longer have access to it.',
  )
}

/** The vendor no longer knows the job, or can't be reached. */
function unknownOutcome(error: unknown): PartEnd {
  const why = error instanceof MediaFault ? error.message : 'The provider’s response can’t be understood.'
  const message = `The provider couldn’t be asked for the result, so it’s counted as billed. ${why}`
  return { end: 'failed', error: new Refusal('outcome_unknown', { message }), cost: 'held' }
}

function endedThere({ status, message, reportedUsd }: Exclude<PollResult, { status: 'pending' | 'done' }>): PartEnd {
  const cost = reportedUsd === undefined ? 'nothing' : { reportedUsd }
  const code = status === 'refused' ? 'content_refused' : 'provider_error'
  return { end: 'failed', error: new Refusal(code, { message }), cost }
}

async function cancel<R extends MediaRequest>(
  { gateway, offer, party }: PartRunner,
  maker: DeferredMaker<R>,
  job: NonNullable<Part['job']>,
): Promise<PartEnd> {
  if (maker.cancel === undefined) return { end: 'cancelled', cost: 'held' }
  try {
    const until = AbortSignal.timeout(CANCEL_MS)
    using place = gateway.place(until)
    const isConfirmed = await maker.cancel(gateway.wireTo(offer, party, until, place), job)
    return { end: 'cancelled', cost: isConfirmed ? 'nothing' : 'held' }
  } catch {
    return { end: 'cancelled', cost: 'held' }
  }
}
