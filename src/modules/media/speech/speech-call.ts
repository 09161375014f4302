import type { Context } from '#infra/context.ts'
import type { MeteredCall } from '#infra/ledger/ledger.ts'
import { payerOf } from '#infra/ledger/payer.ts'
import { MediaFault, type MediaUnits, type SpeechRequest } from '#gateway/media/adapter.ts'
import { fateOf, mediaRefusal } from '#gateway/media/fate.ts'
import type { AnswerPlace } from '#infra/media/answer-room.ts'
import type { MediaCandidate } from '#gateway/media/gateway.ts'
import { costOf, mediaUsage, worstCase } from '#gateway/media/cost/price.ts'
import { type ShapedSound, soundAs } from '#gateway/media/sound-as.ts'
import type { MediaOffer } from '#gateway/model/offer.ts'
import { Refusal, refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { newId } from '#core/ids.ts'
import type { Nano } from '#core/money.ts'
import { actingIn } from '#core/principal.ts'
import type { Usage } from '#core/usage.ts'
import { type MediaAsk, requestFor } from '../ask.ts'
import type { HasMediaGateway } from '../handles.ts'
import { anotherMay, resolveVoice } from '../resolve-voice.ts'

type Ctx = Context<HasMediaGateway>

export interface SpeechSettlement {
  usage: Usage
  cost: Nano | null
}

/** Speech whose first audio has arrived, so refusals are over. Disposing ends it and settles if needed. */
export interface SpeechCall extends AsyncDisposable {
  id: Id
  offer: MediaOffer
  seed: number
  sound: ShapedSound
  losses: readonly string[]
  /** From the first byte. Iterable once. */
  parts: AsyncIterable<Uint8Array>
  /** Settles once. Later calls return the first result. */
  settle(status: 'succeeded' | 'failed' | 'cancelled'): SpeechSettlement
}

/** Tries the candidates in order. Refuses like `POST /inference/speech`. */
export async function startSpeech(ctx: Ctx, ask: MediaAsk): Promise<SpeechCall> {
  const { engine, principal } = ctx
  const workspaceId = ctx.workspace!.id
  const payer = payerOf(principal, workspaceId)
  const acting = actingIn(principal, workspaceId)
  const candidates = await engine.mediaGateway.candidates(acting, payer, { kind: 'speech', model: ask.model })
  let refusal: Refusal | null = null
  for (const candidate of candidates) {
    ctx.signal.throwIfAborted()
    const { offer } = candidate
    const call: MeteredCall = {
      id: newId(),
      payer,
      surface: 'inference',
      model: offer.slug,
      provider: offer.endpoint.slug,
      endpointId: offer.endpoint.id,
      billing: offer.endpoint.billing,
      startedAt: new Date(),
    }
    let request: SpeechRequest
    let worst: Nano | null
    try {
      const askWithVoice = await resolveVoice(engine, candidate, ask)
      request = requestFor(askWithVoice, offer.upstreamModel, new Map(), 1) as SpeechRequest
      worst = worstCase(request, offer)
      await engine.ledger.reserve(call, worst)
    } catch (error) {
      if (!anotherMay(error)) throw error
      refusal ??= error
      continue
    }
    const attempt = new SpeechAttempt(ctx, candidate, request, call, worst)
    try {
      return await attempt.start()
    } catch (error) {
      if (!attempt.passesOn(error)) throw error
      refusal = mediaRefusal(error)
    }
  }
  throw refusal ?? new Refusal('no_route')
}

/** One provider's attempt, with its reservation. */
class SpeechAttempt {
  readonly #ctx: Ctx
  readonly #candidate: MediaCandidate
  readonly #request: SpeechRequest
  readonly #call: MeteredCall
  readonly #worst: Nano | null
  readonly #place: AnswerPlace
  /** Aborts the vendor's request or the local engine. */
  readonly #leaving = new AbortController()
  readonly #startedAt = performance.now()
  readonly #watch: Disposable
  #firstMs: number | null = null
  #settlement: SpeechSettlement | null = null
  #sound: ShapedSound | null = null

  constructor(ctx: Ctx, candidate: MediaCandidate, request: SpeechRequest, call: MeteredCall, worst: Nano | null) {
    this.#ctx = ctx
    this.#candidate = candidate
    this.#request = request
    this.#call = call
    this.#worst = worst
    const place = ctx.engine.mediaGateway.place(AbortSignal.any([ctx.signal, this.#leaving.signal]))
    this.#leaving.signal.addEventListener('abort', () => place[Symbol.dispose](), { once: true })
    this.#place = place
    this.#watch = ctx.engine.endpoints.watch(candidate.offer.endpoint, () => {
      const message = 'The provider endpoint was disabled or deleted while generating speech.'
      this.#leaving.abort(new Refusal('no_route', { message }))
    })
  }

  /** Throws the provider's fault after releasing or settling the reservation. */
  async start(): Promise<SpeechCall> {
    const { engine, signal } = this.#ctx
    const { mediaGateway, ledger, media } = engine
    const { offer, seed } = this.#candidate
    const { accountId } = this.#call.payer
    const leave = AbortSignal.any([signal, this.#leaving.signal])
    const maker = mediaGateway.makerOf<SpeechRequest>(offer, 'speech', accountId)
    ledger.markSent(this.#call, this.#worst ?? 0n)
    try {
      if (maker?.how !== 'immediate') return refuse('unsupported_model', { param: 'model' })
      const wire = mediaGateway.wireTo(offer, `${accountId} speech ${this.#call.id}`, leave, this.#place)
      const delivery = await maker.run(wire, this.#request)
      if (delivery.kind !== 'sound') throw new MediaFault('bad_answer', 'The provider returned no audio.')
      const { format } = this.#request
      const comment = offer.endpoint.slug === 'sim' ? { comment: 'Simulated' } : {}
      const options = { account: accountId, signal: leave, ...comment }
      const sound = await soundAs(delivery.sound, format, media.converter, options)
      this.#sound = sound
      const parts = sound.bytes[Symbol.asyncIterator]()
      const first = await firstOf(parts)
      checkSound(format, first)
      this.#firstMs = performance.now() - this.#startedAt
      mediaGateway.succeeded(offer, this.#firstMs)
      return {
        id: this.#call.id,
        offer,
        seed,
        sound,
        losses: delivery.losses,
        parts: behind(first, parts),
        settle: (status) => this.#settle(status),
        [Symbol.asyncDispose]: async () => {
          this.#leaving.abort(new Error('nobody listens'))
          this.#settle('cancelled')
        },
      }
    } catch (error) {
      const hasLeft = this.#leaving.signal.aborted
      this.#watch[Symbol.dispose]()
      this.#leaving.abort(error)
      if (signal.aborted || hasLeft) {
        this.#settle(hasLeft ? 'failed' : 'cancelled')
        throw hasLeft ? this.#leaving.signal.reason : signal.reason
      }
      throw this.#errorFor(error)
    }
  }

  /** Whether another provider may be tried. */
  passesOn(error: unknown): boolean {
    return this.#settlement === null && error instanceof MediaFault
  }

  /** Returns the fault itself if another provider may be tried. */
  #errorFor(error: unknown): unknown {
    const { engine } = this.#ctx
    if (error instanceof MediaFault) engine.mediaGateway.failed(this.#candidate.offer, error)
    else if (!(error instanceof Refusal)) {
      this.#settle('failed')
      return error
    }
    switch (fateOf(error, 'immediate')) {
      case 'elsewhere':
        engine.ledger.release(this.#call)
        return error
      case 'refused':
        engine.ledger.release(this.#call)
        return mediaRefusal(error)
      case 'done':
      case 'unclear':
        this.#settle('failed')
        return mediaRefusal(error)
    }
  }

  /** Uses the vendor's own count after complete speech, otherwise the whole text, because all of it was sent. */
  #settle(status: 'succeeded' | 'failed' | 'cancelled'): SpeechSettlement {
    if (this.#settlement !== null) return this.#settlement
    this.#watch[Symbol.dispose]()
    const { ledger } = this.#ctx.engine
    const seconds = this.#sound?.seconds() ?? null
    const units: MediaUnits =
      status === 'succeeded' ? { ...(seconds !== null && { audioSeconds: seconds }), ...this.#sound?.units() } : {}
    const quote = costOf(this.#request, units, this.#candidate.offer, this.#worst)
    const over = this.#worst !== null && quote.nano !== null && quote.nano > this.#worst
    const cost = over && ledger.isGuarded(this.#call.payer, this.#call.billing) ? this.#worst : quote.nano
    const usage = mediaUsage(this.#request, units)
    this.#settlement = { usage, cost }
    ledger.settle(this.#call, {
      status,
      usage,
      cost,
      costSource: cost === null ? null : quote.source,
      finishReason: null,
      firstTokenMs: this.#firstMs === null ? null : Math.round(this.#firstMs),
      durationMs: Math.round(performance.now() - this.#startedAt),
      streamed: true,
    })
    return this.#settlement
  }
}

/** Enough bytes to detect the format. */
async function firstOf(parts: AsyncIterator<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for (let size = 0; size < 4;) {
    const next = await parts.next()
    if (next.done) break
    // The buffer is valid only until the next read.
    chunks.push(Buffer.from(next.value))
    size += next.value.length
  }
  return Buffer.concat(chunks)
}

/** Checks the format before anything is sent on. */
function checkSound(format: SpeechRequest['format'], first: Buffer): void {
  const head = first.toString('latin1', 0, 4)
  const fits =
    format === 'mp3'
      ? head.startsWith('ID3') || (first[0] === 0xff && (first[1]! & 0xe0) === 0xe0)
      : format === 'opus'
        ? head === 'OggS'
        : !/^(?:<[!a-z?]|\{["\s])/i.test(head)
  if (first.length === 0) throw new MediaFault('bad_answer', 'The provider returned no audio.')
  if (!fits) throw new MediaFault('bad_answer', `The provider’s response isn’t in the format ${format}.`)
}

async function* behind(first: Buffer, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    yield first
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value
  } finally {
    await rest.return?.()
  }
}
