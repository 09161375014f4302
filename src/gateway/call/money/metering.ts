import { clampCost } from '#infra/ledger/settle/item.ts'
import type { AnsweredRequest, Ledger, MeteredCall, Outcome, Payer } from '#infra/ledger/ledger.ts'
import { unpricedMessages } from '#infra/ledger/unpriced.ts'
import { Refusal, refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import type { Nano } from '#core/money.ts'
import { type Usage, usageOf } from '#core/usage.ts'
import {
  type Cost,
  type TokensOfMedia,
  affordableOutput,
  costOf,
  worstCost,
  worstImages,
  worstPictures,
} from '../../model/cost/cost.ts'
import type { Offer } from '../../model/offer.ts'
import type { Pricing } from '../../catalogue/model.ts'
import { reportedBy } from '../../providers/supports.ts'
import { payerFor } from './trial.ts'
import { vendorToolIn } from './vendor-tools.ts'
import type { Body } from '../../model/body.ts'
import { roughText, weigh } from '../../model/cost/weigh.ts'
import { storedReferenceIn, storedReferenceInBody } from '../../stored-references/find.ts'

/** The most that a request may use, before a price is put to it (contract, part 7). */
export interface RequestedUsage {
  /** An upper bound, no count. */
  inputTokens: number
  /** Null: the client did not say. */
  maxTokens: number | null
  /** Answers asked for. */
  n: number
  /** The field in which the client says how many tokens it wants; absent or null: there is none. */
  limitField?: string | null
}

/** The most that an attempt may cost: an answer of so many tokens, so many pictures (null: nobody can say how many), or an amount. */
export type WorstCase = RequestedUsage | { images: number | null; inputTokens: number } | { nano: Nano | null }

/** Below it an answer is of no use, and the call is refused instead. */
const LEAST_OUTPUT = 1_024
/** The bound of an answer where no source knows the model's limit. */
const USUAL_LIMIT = 32_768

const unknown: Cost = { nano: null, source: null }

/** The most output tokens of one answer: what was asked for, if the model writes so much; null asked for nothing. */
export const mostOutput = ({ maxOutputTokens, contextLength }: Offer, maxTokens: number | null): number =>
  maxTokens === null
    ? (maxOutputTokens ?? Math.min(contextLength ?? USUAL_LIMIT, USUAL_LIMIT))
    : Math.min(maxTokens, maxOutputTokens ?? Number.MAX_SAFE_INTEGER)

/**
 * The amounts that a call at these prices is held with: its worst case, and the least where balance and caps leave less. A
 * caller that names no bound gets as much as there is money for.
 */
export function amountsOf(
  offer: Offer,
  pricing: Pricing,
  { inputTokens, maxTokens, n }: RequestedUsage,
): { worst: Nano; least: Nano; pictures: Nano; input: number; most: number } {
  const { contextLength } = offer
  const input = contextLength === null ? inputTokens : Math.min(inputTokens, contextLength)
  const most = mostOutput(offer, maxTokens)
  const pictures = worstPictures(pricing, n)
  const worst = worstCost(pricing, input, most * n, n) + pictures
  const isOpen = maxTokens === null && most > LEAST_OUTPUT
  const least = isOpen ? worstCost(pricing, input, LEAST_OUTPUT * n, n) + pictures : worst
  return { worst, least, pictures, input, most }
}

/** The end of an attempt, as it is settled. */
export interface AttemptEnd {
  status: Outcome['status']
  usage: Usage
  reportedUsd: number | undefined
  media?: TokensOfMedia | undefined
  /** The cost, where the usage does not tell it. */
  priced?: Cost | undefined
  /** Usage that nobody counted. */
  unpriced?: boolean
  /** The usage is a guess. */
  estimated: boolean
  finishReason: string | null
  firstTokenMs: number | null
  durationMs: number
  streamed: boolean
  /** Null: the log of requests has an entry of its own for it, or none. */
  request: AnsweredRequest | null
}

/** The money of one attempt: what is held for it, and what it cost in the end. */
export class Metering {
  readonly call: MeteredCall
  readonly offer: Offer
  readonly #ledger: Ledger
  #reserved: Nano | null = null
  /** Whether what was held is the price of all that was asked for: it counts where the end of the call doesn't say what it cost. */
  #isWhole = false
  #settled = false

  constructor(ledger: Ledger, offer: Offer, call: { id: Id; payer: Payer; surface: string }) {
    this.#ledger = ledger
    this.offer = offer
    const { endpoint } = offer
    this.call = {
      id: call.id,
      payer: payerFor(call.payer, offer),
      surface: call.surface,
      model: offer.slug,
      provider: endpoint.slug,
      endpointId: endpoint.id,
      billing: endpoint.billing,
      startedAt: new Date(),
    }
  }

  /** Whether money has to be held before the call is sent. */
  get guarded(): boolean {
    return this.#ledger.isReserved(this.call.payer, this.call.billing)
  }

  get isWhole(): boolean {
    return this.#isWhole
  }

  /** Holds it durably. Answers the `max_tokens` that the request must carry so that it stays the worst case; null: it may travel as it is. */
  reserve(worst: WorstCase): Promise<number | null> {
    if ('nano' in worst) return this.#reserveAmount(worst.nano)
    return 'images' in worst ? this.#reserveImages(worst.images, worst.inputTokens) : this.#reserve(worst)
  }

  /** Refuses what `reserve` refuses, and holds nothing afterwards, for whichever process makes the call. */
  async check(worst: WorstCase): Promise<void> {
    if (!this.guarded) return
    await this.reserve(worst)
    this.release()
    await this.#ledger.flush()
  }

  /** Holds all of it, of a bound that is rough, or refuses. */
  async reserveWhole(worst: RequestedUsage): Promise<void> {
    const { pricing } = this.offer
    const nano = pricing === null ? null : amountsOf(this.offer, pricing, worst).worst
    const held = await this.#ledger.reserve(this.call, nano)
    if (nano !== null) this.#reserved = held
  }

  /** Refuses with 402, saying how many output tokens could be afforded. */
  async #reserve(ask: RequestedUsage): Promise<number | null> {
    const { call, offer } = this
    const { pricing } = offer
    if (pricing === null) {
      await this.#ledger.reserve(call, null)
      return null
    }
    const { n, limitField = null } = ask
    const { worst, least, pictures, input, most } = amountsOf(offer, pricing, ask)
    const covered = (nano: Nano): number =>
      Math.max(0, Math.floor(affordableOutput(pricing, nano - pictures, input, n) / n))
    try {
      this.#reserved = await this.#ledger.reserve(call, worst, least)
    } catch (error) {
      const whole = error instanceof Refusal ? (error.toPayer ?? error) : null
      if (whole?.details?.['available_usd'] === undefined) throw error
      const left = await this.#ledger.affordable(call.payer, call.billing)
      const tokens = left === null ? most : covered(left)
      // A message to a chat names no limit.
      const field = tokens > 0 && most > 0 && call.payer.runId === undefined ? limitField : null
      const param = whole.param ?? field
      const told = new Refusal(whole.code, {
        message: field === null ? whole.message : `${whole.message} Or set \`${field}\` to ${tokens} or less.`,
        ...(param !== null && { param }),
        details: { ...whole.details, affordable_output_tokens: tokens },
        ...(whole.headers && { headers: whole.headers }),
      })
      // The tightest of all that guards the call is the payer's alone, whatever refused it.
      throw call.payer.overheard ? forOthers(error as Refusal, told) : told
    }
    return this.#reserved < worst ? covered(this.#reserved) : null
  }

  async #reserveAmount(worst: Nano | null): Promise<null> {
    this.#reserved = await this.#ledger.reserve(this.call, worst)
    this.#isWhole = true
    return null
  }

  /** The same for so many pictures. Null, as of sound, and pictures without a price of their own cannot be bounded. */
  async #reserveImages(images: number | null, inputTokens: number): Promise<null> {
    const { pricing } = this.offer
    if (images !== null && pricing?.image !== undefined)
      this.#reserved = worstCost(pricing, inputTokens, 0, 1) + worstImages(pricing.image, images)
    const { call } = this
    if (this.#reserved === null && this.#ledger.isGuarded(call.payer, call.billing))
      refuse('unpriced_model', {
        message: images === null ? unpricedMessages.sound(call) : unpricedMessages.pictures(call),
        details: { model: call.model },
      })
    await this.#ledger.reserve(call, this.#reserved)
    return null
  }

  /** The client left while the money was being held. */
  release(): void {
    this.#settled = true
    this.#ledger.release(this.call)
  }

  /** `answer` tells about how many characters have come, should this process die before its end. */
  sent(inputTokens: number, answer: { readonly characters: number }): void {
    const { pricing } = this.offer
    if (this.#isWhole) return this.#ledger.markSent(this.call, this.#reserved!)
    if (this.#reserved === null || pricing === null) return this.#ledger.markSent(this.call)
    const soFar = (): Nano => worstCost(pricing, inputTokens, Math.ceil(answer.characters / 4), 1)
    this.#ledger.markSent(this.call, worstCost(pricing, inputTokens, 0, 1), soFar)
  }

  /**
   * Settles the call; only the first settlement counts. Answers the cost that the ledger counts: where something guards
   * the call, no more than was reserved.
   */
  settle(end: AttemptEnd): Nano | null {
    const nano = this.#settle(end)
    if (nano === null) return null
    const guarded = this.#reserved !== null && this.#ledger.isGuarded(this.call.payer, this.call.billing)
    return guarded && nano > this.#reserved! ? this.#reserved : clampCost(nano)
  }

  #settle(end: AttemptEnd): Nano | null {
    const { nano, source } =
      end.unpriced && this.offer.endpoint.billing !== 'free'
        ? this.#asHeld()
        : (end.priced ??
          costOf(end.usage, this.offer, reportedBy(this.offer.endpoint, end.reportedUsd), this.#reserved, end))
    if (this.#settled) return nano
    this.#settled = true
    this.#ledger.settle(this.call, {
      status: end.status,
      usage: end.usage,
      cost: nano,
      costSource: source,
      finishReason: end.finishReason,
      firstTokenMs: end.firstTokenMs,
      durationMs: end.durationMs,
      streamed: end.streamed,
      request: end.request,
    })
    return nano
  }

  #asHeld(): Cost {
    return this.#isWhole ? { nano: this.#reserved, source: 'estimated' } : unknown
  }

  /** The provider failed before it answered: nothing is charged, unless it may be at work on what was held for. */
  fail(durationMs: number, streamed: boolean, isUnclear = false): void {
    if (this.#settled) return
    this.#settled = true
    const usage = usageOf({ requests: 1 })
    const priced = this.#isWhole || this.offer.pricing !== null || this.offer.endpoint.billing === 'free'
    const { nano: cost, source: costSource }: Cost =
      isUnclear && this.#isWhole ? this.#asHeld() : priced ? { nano: 0n, source: 'computed' } : unknown
    this.#ledger.settle(this.call, {
      status: 'failed',
      usage,
      cost,
      costSource,
      finishReason: null,
      firstTokenMs: null,
      durationMs,
      streamed,
    })
  }
}

const forOthers = ({ code, message, param, details }: Refusal, toPayer: Refusal): Refusal =>
  new Refusal(code, { message, ...(param !== undefined && { param }), ...(details && { details }), toPayer })

/** Tokens that a vendor's template puts around messages and tools that the request does not show. */
const PER_REQUEST = 16
const WITH_TOOLS = 512

/** A body of any surface, or a CanonicalRequest. */
interface Weighed {
  model?: unknown
  messages?: unknown
  conversation?: unknown
  prompt?: unknown
  input?: unknown
  tools?: unknown
  functions?: unknown
  toolConfig?: unknown
}

/**
 * The most input tokens that a request can hold: one per byte of text under a cap, else one per two; with media as
 * much as the model takes, and so with tools of the vendor's own. No tokeniser makes more tokens than bytes.
 */
export function inputBound(json: Weighed, payer: Payer, contextLength: number | null): number {
  const seen = weigh(json)
  const request = json as Record<string, unknown>
  // The provider reads by itself what lies there, and what its own tools find.
  if (storedReferenceIn(request) !== null || vendorToolIn((name) => request[name]) !== null) seen.media++
  const hidden = PER_REQUEST + ((json.tools ?? json.functions ?? json.toolConfig) === undefined ? 0 : WITH_TOOLS)
  if (seen.media > 0) return contextLength ?? seen.text + seen.media + hidden
  return tokensIn(seen.text, payer) + hidden
}

/**
 * A bound that is no smaller, found without parsing the client’s own body: half as much again where a conversation is
 * full of calls and escapes. Null: the body has to be parsed.
 */
export function roughInputBound(body: Body, payer: Payer): number | null {
  const text = roughText(body)
  if (text === null || storedReferenceInBody(body, false) !== null) return null
  if (vendorToolIn((name) => body.value(name)) !== null) return null
  return tokensIn(text, payer) + PER_REQUEST + WITH_TOOLS
}

const tokensIn = (bytes: number, { key, budgets }: Payer): number =>
  (key?.cap ?? null) !== null || (budgets?.some(({ nano }) => nano !== null) ?? false) ? bytes : Math.ceil(bytes / 2)
