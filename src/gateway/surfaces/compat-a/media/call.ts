import { setTimeout as sleep } from 'node:timers/promises'
import type { MeteredCall, Payer } from '#infra/ledger/ledger.ts'
import { Refusal } from '#core/errors.ts'
import { type Id, newId } from '#core/ids.ts'
import type { Nano } from '#core/money.ts'
import type { Principal } from '#core/principal.ts'
import { type Usage, sumUsage } from '#core/usage.ts'
import { WHOLE_BYTES, badAnswer, wholeOf } from '../../../media/answers.ts'
import {
  type DeferredMaker,
  type DeliveredMedia,
  MediaFault,
  type MediaRequest,
  type MediaUnits,
  type MediaWire,
} from '../../../media/adapter.ts'
import { type Fate, fateOf, mediaRefusal, passes, pollDelayMs } from '../../../media/fate.ts'
import type { AnswerPlace } from '#infra/media/answer-room.ts'
import type { MediaGateway } from '../../../media/gateway.ts'
import { checkCharacters } from '../../../media/cost/limits.ts'
import { asSent, costOf, mediaUsage, worstCase } from '../../../media/cost/price.ts'
import { withLength } from '../../../media/transcript/length.ts'
import type { MediaOffer } from '../../../model/offer.ts'
import type { Gateway } from '../../../request/gateway.ts'

export interface MediaCallOptions<R extends MediaRequest> {
  kind: R['kind']
  model: string
  principal: Principal
  payer: Payer
  surface: string
  requestFor(offer: MediaOffer, n: number): R
  n: number
  signal: AbortSignal
  place: AnswerPlace
}

export interface MadeMedia {
  offer: MediaOffer
  seed: number
  delivered: readonly DeliveredMedia[]
  losses: readonly string[]
  settle(status: 'succeeded' | 'cancelled'): { usage: Usage; cost: Nano | null }
}

/** Maximum wait for a vendor's job. Longer jobs belong to `/inference`, where they outlive their caller. */
const JOB_MS = 600_000
const MAX_BLIND = 5
const CANCEL_MS = 3_000

/**
 * Tries candidates like `/inference` until one accepts. Files are read as a whole; audio streams while it is generated.
 */
export async function callMedia<R extends MediaRequest>(
  { engine: { ledger } }: Gateway,
  media: MediaGateway,
  options: MediaCallOptions<R>,
): Promise<MadeMedia> {
  const { kind, model, principal, payer, surface, requestFor, n, signal, place } = options
  const candidates = await media.candidates(principal, payer, { kind, model })
  let refusal: Refusal | null = null
  for (const { offer, seed } of candidates) {
    signal.throwIfAborted()
    const maker = media.makerOf<R>(offer, kind, principal.accountId)!
    const whole = requestFor(offer, n)
    const worst = worstCase(whole, offer)
    const call = callOf(offer, payer, surface)
    try {
      if (whole.kind === 'speech') checkCharacters(whole.input, offer)
      await ledger.reserve(call, worst)
    } catch (error) {
      // Another candidate may be cheaper, or accept a longer text.
      if (!(error instanceof Refusal) || (error.type !== 'payment_required' && error.param !== 'input')) throw error
      refusal ??= error
      continue
    }
    ledger.markSent(call, worst ?? 0n)
    const most = kind === 'image' ? media.mostImages(offer) : 1
    const startedAt = performance.now()
    const parts = await Promise.allSettled(
      shares(n, most).map(async (share, part) => {
        const wireFor = (until: AbortSignal) =>
          media.wireTo(offer, `${principal.accountId} media ${call.id} ${part}`, until, place)
        const request = requestFor(offer, share)
        const results =
          maker.how === 'immediate'
            ? await maker.run(wireFor(signal), request)
            : await pollUntilDone(maker, wireFor, request, signal)
        return { request, delivered: await inMemory(withLength(request, results), place) }
      }),
    )
    const results = parts.flatMap((part) => (part.status === 'fulfilled' ? [part.value] : []))
    const faults = parts.flatMap((part) => (part.status === 'rejected' ? [part.reason as unknown] : []))
    const settle = (status: 'succeeded' | 'failed' | 'cancelled') => {
      const charges = results.map(({ request, delivered }) => paidFor(request, delivered, offer))
      const faultCharges = faults.map((fault) => paidForFault(fateOf(fault, maker.how), whole, offer, n, worst))
      const cost = [...charges, ...faultCharges].reduce<Nano | null>(
        (sum, one) => (sum === null || one.nano === null ? null : sum + one.nano),
        0n,
      )
      const exceedsReservation =
        ledger.isGuarded(payer, offer.endpoint.billing) && worst !== null && cost !== null && cost > worst
      const usage = { ...sumUsage(charges.map((one) => one.usage)), requests: parts.length }
      const charge = exceedsReservation ? worst : cost
      ledger.settle(call, {
        status,
        usage,
        cost: charge,
        costSource:
          charge === null
            ? null
            : faultCharges.some(({ nano }) => nano !== 0n)
              ? 'estimated'
              : (charges[0]?.source ?? 'computed'),
        finishReason: null,
        firstTokenMs: null,
        durationMs: performance.now() - startedAt,
        streamed: false,
      })
      return { usage, cost: charge }
    }
    if (results.length > 0) {
      media.succeeded(offer, performance.now() - startedAt)
      const losses = results.flatMap(({ delivered: delivery }) => delivery.losses)
      return {
        offer,
        seed,
        delivered: results.map(({ delivered: delivery }) => delivery),
        losses: [...new Set([...losses, ...(faults.length > 0 ? ['n'] : [])])],
        settle,
      }
    }
    const [fault] = faults
    settle(signal.aborted ? 'cancelled' : 'failed')
    signal.throwIfAborted()
    if (fault instanceof MediaFault) media.failed(offer, fault)
    refusal = mediaRefusal(fault)
    if (faults.some((one) => fateOf(one, maker.how) !== 'elsewhere')) break
  }
  throw refusal ?? new Refusal('no_route', { param: 'model' })
}

const callOf = ({ slug, endpoint }: MediaOffer, payer: Payer, surface: string): MeteredCall & { id: Id } => ({
  id: newId(),
  payer,
  surface,
  model: slug,
  provider: endpoint.slug,
  endpointId: endpoint.id,
  billing: endpoint.billing,
  startedAt: new Date(),
})

function shares(n: number, most: number): number[] {
  const all: number[] = []
  for (let remaining = n; remaining > 0; remaining -= most) all.push(Math.min(remaining, most))
  return all
}

/** If the client disconnects, the job is canceled if the vendor supports that. */
async function pollUntilDone<R extends MediaRequest>(
  maker: DeferredMaker<R>,
  wireFor: (until: AbortSignal) => MediaWire,
  request: R,
  signal: AbortSignal,
): Promise<DeliveredMedia> {
  const wire = wireFor(signal)
  const { job, losses } = await maker.submit(wire, request)
  const until = performance.now() + JOB_MS
  let blind = 0
  let retryAfter: number | null = null
  try {
    for (let round = 0; ; round++) {
      const delay = pollDelayMs(request.kind, round, retryAfter, Math.random())
      const remainingMs = until - performance.now()
      await sleep(Math.min(delay, remainingMs), undefined, { signal })
      if (delay >= remainingMs) break
      try {
        const status = await maker.poll(wire, job)
        blind = 0
        if (status.status === 'done') return { ...status.delivered, losses: [...losses, ...status.delivered.losses] }
        if (status.status === 'refused') throw new MediaFault('refused_content', status.message, { sent: false })
        if (status.status !== 'pending') throw new MediaFault('bad_request', status.message, { sent: false })
        retryAfter = status.retryAfterSeconds
      } catch (fault) {
        if (!passes(fault) || ++blind > MAX_BLIND) throw fault
        retryAfter = (fault as MediaFault).retryAfterSeconds
      }
    }
    throw new MediaFault('timeout', 'The provider didn’t finish the job in time.')
  } catch (error) {
    if (!signal.aborted) throw error
    const isCanceled = await maker.cancel?.(wireFor(AbortSignal.timeout(CANCEL_MS)), job).catch(() => false)
    if (isCanceled === true) throw new MediaFault('bad_request', 'The provider canceled the job.', { sent: false })
    throw error
  }
}

async function inMemory(delivered: DeliveredMedia, place: AnswerPlace): Promise<DeliveredMedia> {
  if (delivered.kind !== 'files') return delivered
  let total = 0
  async function* limitBytes(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const part of bytes) {
      total += part.length
      if (total > WHOLE_BYTES) throw badAnswer(`The provider’s files have more than ${WHOLE_BYTES >> 20} MiB in total.`)
      yield part
    }
  }
  const files = await Promise.all(
    delivered.files.map(async ({ bytes, revisedPrompt }) => {
      const whole = await wholeOf({ body: limitBytes(bytes), place })
      if (whole.length === 0) throw new MediaFault('bad_answer', 'The provider returned a file without content.')
      return { bytes: once(whole), revisedPrompt }
    }),
  )
  return { ...delivered, files }
}

const once = (bytes: Buffer): AsyncIterable<Uint8Array> => ({
  async *[Symbol.asyncIterator]() {
    yield bytes
  },
})

function unitsOf(delivered: DeliveredMedia): MediaUnits {
  if (delivered.kind === 'sound') return delivered.sound.units()
  return delivered.units
}

function paidFor(request: MediaRequest, delivered: DeliveredMedia, offer: MediaOffer) {
  const units = unitsOf(delivered)
  const sentRequest = asSent(request, delivered.losses)
  return { ...costOf(sentRequest, units, offer, worstCase(request, offer)), usage: mediaUsage(sentRequest, units) }
}

/** Nothing if the work wasn't done, the worst case if unknown. */
function paidForFault(fate: Fate, request: MediaRequest, offer: MediaOffer, n: number, worst: Nano | null) {
  if (fate === 'elsewhere' || fate === 'refused') return { nano: 0n }
  const each = request.kind === 'image' ? { ...request, n: 1 } : request
  if (fate === 'done') return { nano: costOf(each, {}, offer, worst).nano }
  return { nano: worst === null ? null : worst / BigInt(n) }
}
