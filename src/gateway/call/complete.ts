import { addAbortListener } from 'node:events'
import type { Payer } from '#infra/ledger/ledger.ts'
import { type Id, newId } from '#core/ids.ts'
import type { Nano } from '#core/money.ts'
import { Refusal } from '#core/errors.ts'
import type { Principal } from '#core/principal.ts'
import type { Billing, Usage } from '#core/usage.ts'
import type { CanonicalRequest, Chunk, Loss } from '../model/canonical-request.ts'
import type { Offer } from '../model/offer.ts'
import { refusalOf } from '../model/refusal.ts'
import { conversationOf } from '../routing/cache-affinity.ts'
import { choose } from '../routing/choose.ts'
import { summaryOf } from '../routing/constraints.ts'
import { noSuchModel } from '../routing/model-names/unknown-model.ts'
import { type Candidate, newSeed } from '../routing/router.ts'
import { isSimulated } from '../sim/offers.ts'
import { type TranslatedRequest, isTranslatable, translateFor } from '../translation/translate.ts'
import type { CallMoney, CallRelay, CallRequest, HandledAttempt } from './handler.ts'
import { Call } from './call.ts'
import { callerOf } from '../request/caller.ts'
import { IteratedAnswer } from './iterated-answer.ts'
import { liveConstraints } from './live-constraints.ts'
import { guessInput } from '../model/cost/weigh.ts'
import { Metering, type WorstCase, inputBound } from './money/metering.ts'
import type { Gateway } from '../request/gateway.ts'
import type { RequestFacts } from '../request/logged.ts'
import { limitAt } from './money/worst-case.ts'

export interface CompleteOptions {
  signal: AbortSignal
  payer: Payer
  surface: string
  id?: Id
  /** The answer is only useful as a whole: a truncated one is retried elsewhere, without an `error` chunk. */
  whole?: boolean
}

export interface ServedCall {
  id: Id
  model: string
  provider: string
  endpointId: Id
  upstreamModel: string
  billing: Billing
  seed: number
  losses: readonly Loss[]
  usage: Usage | null
  /** Null until the end, and for a model without a price. */
  cost: Nano | null
  finishReason: string | null
}

/**
 * A model's answer to a CanonicalRequest. Iterate it once: it yields chunks as they arrive, ending with a `finish` or,
 * for a truncated answer, an `error`. Before the first chunk it throws a Refusal: `not_found` (`param: 'model'`), 402s,
 * `no_route`, `context_length_exceeded`, `invalid_parameter`, `rate_limited`, `provider_error`, `timeout`. If the
 * signal fires or the consumer stops, the provider is disconnected at once and the output so far is settled. The same
 * happens if its endpoint is disabled or deleted (`no_route`), but until the first content (or the end, for `whole`)
 * another candidate is tried.
 */
export interface Completion extends AsyncIterable<Chunk> {
  /** Null until the first chunk or a cancellation; complete after the last chunk. */
  readonly served: ServedCall | null
  /** Refuses what the first chunk would be refused for, without calling a provider. For calls that are made later. */
  check(): Promise<void>
}

export type CompleteTurn = (principal: Principal, canonical: CanonicalRequest, options: CompleteOptions) => Completion

export const createCompleteTurn =
  (gateway: Gateway): CompleteTurn =>
  (principal, canonical, options) => {
    const call = new DirectCall(gateway, principal, canonical, options)
    return {
      get served() {
        return call.served
      },
      check: () => call.check(),
      [Symbol.asyncIterator]: () => call.chunks(),
    }
  }

class DirectCall implements CallRequest, CallMoney, CallRelay {
  readonly gateway: Gateway
  readonly payer: Payer
  readonly surface: string
  readonly id: Id
  readonly startedAt = performance.now()
  readonly metered = true
  readonly streaming: boolean
  conversation: string | null = null
  readonly #principal: Principal
  readonly #canonical: CanonicalRequest
  readonly #signal: AbortSignal
  readonly #seed = newSeed()
  readonly #call: Call
  readonly #begun = Promise.withResolvers<IteratedAnswer>()
  #answer: IteratedAnswer | null = null
  #watch: Disposable | null = null
  #shown: HandledAttempt | null = null

  constructor(
    gateway: Gateway,
    principal: Principal,
    canonical: CanonicalRequest,
    { signal, payer, surface, id = newId(), whole = false }: CompleteOptions,
  ) {
    this.gateway = gateway
    this.payer = payer
    this.surface = surface
    this.id = id
    this.streaming = !whole
    this.#principal = principal
    this.#canonical = canonical
    this.#signal = signal
    this.#call = new Call({ request: this, money: this, relay: this })
    // The rejection may have no listener.
    this.#begun.promise.catch(() => {})
  }

  get gone(): boolean {
    return this.#signal.aborted
  }

  asked(): RequestFacts {
    return { path: null, model: this.#canonical.model, bytes: null }
  }

  get served(): ServedCall | null {
    const attempt = this.#shown ?? this.#call.attempt
    // Canceled before any output: the input is billed anyway.
    if (attempt === null || (attempt !== this.#shown && attempt.settled === null)) return null
    const { id, offer, translated: translation, settled: settlement } = attempt
    const { endpoint, slug, upstreamModel } = offer
    return {
      id,
      model: slug,
      provider: endpoint.slug,
      endpointId: endpoint.id,
      upstreamModel,
      billing: endpoint.billing,
      seed: this.#seed,
      losses: translation!.losses,
      usage: settlement?.usage ?? null,
      cost: settlement?.cost ?? null,
      finishReason: this.#answer?.finishReason ?? null,
    }
  }

  async *chunks(): AsyncGenerator<Chunk, void, undefined> {
    const signal = this.#signal
    signal.throwIfAborted()
    const candidates = await this.#select()
    using _leaving = addAbortListener(signal, () => {
      this.#call.leave()
      this.#begun.reject(signal.reason)
    })
    try {
      this.#call.start(candidates, null)
      const answer = await this.#begun.promise
      for (const chunk of answer.takeHeld()) yield chunk
      for (let next = await answer.next(); next !== null; next = await answer.next()) yield next
      if (answer.finishReason === null) signal.throwIfAborted()
    } catch (error) {
      signal.throwIfAborted()
      throw error
    } finally {
      this.#call.leave()
      this.#watch?.[Symbol.dispose]()
    }
  }

  async check(): Promise<void> {
    const { gateway, payer, surface } = this
    let refusal: Refusal | null = null
    for (const { offer } of await this.#select())
      try {
        const translation = this.translatedFor(offer)
        const metering = new Metering(gateway.engine.ledger, offer, { id: newId(), payer, surface })
        return await metering.check(this.worstCase({ offer }, this.inputBound({ translated: translation, offer })))
      } catch (error) {
        // Another provider may need no money, or support what this one doesn't.
        if (!(error instanceof Refusal)) throw error
        refusal ??= error
      }
    throw refusal ?? new Refusal('no_route', { param: 'model' })
  }

  async #select(): Promise<readonly Candidate[]> {
    const { gateway, payer } = this
    const request = this.#canonical
    const { model } = request
    const offers = await gateway.directory.offers(this.#principal, model)
    this.#signal.throwIfAborted()
    if (offers.length > 1) this.conversation = conversationOf(callerOf(this.#principal).limitId, request, null)
    const constraints = liveConstraints(gateway, payer, {
      summary: summaryOf(request, ['max_output_tokens']),
      seed: this.#seed,
      conversation: this.conversation,
      serves: isTranslatable,
    })
    return choose([{ model, offers }], constraints, gateway.health, false, {
      // The caller is unknown here; modules that know the caller suggest names.
      unserved: () => noSuchModel(model, []),
      shapes: (shapes) => `\`${model}\` is served in the API format ${shapes}, which doesn’t support this.`,
    })
  }

  translatedFor(offer: Offer): TranslatedRequest {
    return translateFor(this.#canonical, offer)
  }

  inputBound({ translated: translation, offer }: Pick<HandledAttempt, 'translated' | 'offer'>): number {
    return inputBound(translation!.body, this.payer, offer.contextLength)
  }

  worstCase({ offer }: Pick<HandledAttempt, 'offer'>, inputTokens: number): WorstCase {
    const { max_output_tokens: most, n = 1 } = this.#canonical
    return {
      inputTokens,
      maxTokens: most === undefined ? null : limitAt(offer, most, offer.endpoint.shape),
      n,
      limitField: this.surface === 'inference' ? 'max_output_tokens' : null,
    }
  }

  guessInput(): number {
    return guessInput(this.#canonical)
  }

  lossesOf({ translated: translation }: HandledAttempt): readonly Loss[] {
    return translation!.losses
  }

  send(attempt: HandledAttempt, limit: number | null): void {
    const { outbound, engine, directory } = this.gateway
    const answer = new IteratedAnswer(attempt, this.#canonical, isSimulated(attempt.offer), !this.streaming)
    this.#answer = answer
    attempt.sent(answer)
    this.#watch?.[Symbol.dispose]()
    this.#watch = directory.watch(attempt.offer.endpoint, () => answer.withdraw())
    const net = { outbound, outside: engine.outside, party: this.payer.accountId }
    answer.open(attempt.translated!.send(limit, net, answer.signal)).catch((error: unknown) => {
      attempt.leave()
      this.#begun.reject(error)
    })
  }

  begin(attempt: HandledAttempt): void {
    this.#shown = attempt
    this.#begun.resolve(this.#answer!)
  }

  ended(): void {}

  failed(failure: unknown): void {
    this.#begun.reject(failure instanceof Error ? failure : refusalOf(failure as Parameters<typeof refusalOf>[0]))
  }
}
