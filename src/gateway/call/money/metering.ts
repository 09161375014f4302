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

/** The most that a request may use, before pricing (contract, part 7). */
export interface RequestedUsage {
  inputTokens: number
  maxTokens: number | null
  n: number
  limitField?: string | null
}

/**
 * The maximum cost of an attempt: an answer of up to this many tokens, a number of images (null: unknown), or an
 * amount.
 */
export type WorstCase = RequestedUsage | { images: number | null; inputTokens: number } | { nano: Nano | null }

/** Shorter answers are useless: the call is refused instead. */
const MIN_OUTPUT = 1_024
const USUAL_LIMIT = 32_768

const unknown: Cost = { nano: null, source: null }

export const mostOutput = ({ maxOutputTokens, contextLength }: Offer, maxTokens: number | null): number =>
  maxTokens === null
    ? (maxOutputTokens ?? Math.min(contextLength ?? USUAL_LIMIT, USUAL_LIMIT))
    : Math.min(maxTokens, maxOutputTokens ?? Number.MAX_SAFE_INTEGER)

/**
 * Returns the amounts to reserve: the worst case, and the minimum if balance and caps allow less. A caller without a
 * limit gets as much as the money allows.
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
  const isOpen = maxTokens === null && most > MIN_OUTPUT
  const least = isOpen ? worstCost(pricing, input, MIN_OUTPUT * n, n) + pictures : worst
  return { worst, least, pictures, input, most }
}

export interface AttemptEnd {
  status: Outcome['status']
  usage: Usage
  reportedUsd: number | undefined
  media?: TokensOfMedia | undefined
  priced?: Cost | undefined
  unpriced?: boolean
  estimated: boolean
  finishReason: string | null
  firstTokenMs: number | null
  durationMs: number
  streamed: boolean
  /** Null: the request log has its own entry, or none. */
  request: AnsweredRequest | null
}

export class Metering {
  readonly call: MeteredCall
  readonly offer: Offer
  readonly #ledger: Ledger
  #reserved: Nano | null = null
  /**
   * True if the reservation covers everything requested. It is charged if the end of the call doesn't report the cost.
   */
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

  get guarded(): boolean {
    return this.#ledger.isReserved(this.call.payer, this.call.billing)
  }

  get isWhole(): boolean {
    return this.#isWhole
  }

  /**
   * Reserves durably. Returns the `max_tokens` that the request must carry to stay within the worst case; null:
   * unchanged.
   */
  reserve(worst: WorstCase): Promise<number | null> {
    if ('nano' in worst) return this.#reserveAmount(worst.nano)
    return 'images' in worst ? this.#reserveImages(worst.images, worst.inputTokens) : this.#reserve(worst)
  }

  /** Refuses what `reserve` would refuse without keeping a reservation, for calls that another process makes. */
  async check(worst: WorstCase): Promise<void> {
    if (!this.guarded) return
    await this.reserve(worst)
    this.release()
    await this.#ledger.flush()
  }

  async reserveWhole(worst: RequestedUsage): Promise<void> {
    const { pricing } = this.offer
    const nano = pricing === null ? null : amountsOf(this.offer, pricing, worst).worst
    const isReserved = await this.#ledger.reserve(this.call, nano)
    if (nano !== null) this.#reserved = isReserved
  }

  async #reserve(ask: RequestedUsage): Promise<number | null> {
    const { call, offer } = this
    const { pricing } = offer
    if (pricing === null) {
      await this.#ledger.reserve(call, null)
      return null
    }
    const { n, limitField = null } = ask
    const { worst, least, pictures, input, most } = amountsOf(offer, pricing, ask)
    const affordableTokens = (nano: Nano): number =>
      Math.max(0, Math.floor(affordableOutput(pricing, nano - pictures, input, n) / n))
    try {
      this.#reserved = await this.#ledger.reserve(call, worst, least)
    } catch (error) {
      const whole = error instanceof Refusal ? (error.toPayer ?? error) : null
      if (whole?.details?.['available_usd'] === undefined) throw error
      const available = await this.#ledger.affordable(call.payer, call.billing)
      const tokens = available === null ? most : affordableTokens(available)
      // Chat messages name no limit.
      const field = tokens > 0 && most > 0 && call.payer.runId === undefined ? limitField : null
      const param = whole.param ?? field
      const refusal = new Refusal(whole.code, {
        message: field === null ? whole.message : `${whole.message} Or set \`${field}\` to ${tokens} or less.`,
        ...(param !== null && { param }),
        details: { ...whole.details, affordable_output_tokens: tokens },
        ...(whole.headers && { headers: whole.headers }),
      })
      // The tightest limit is shown only to the payer.
      throw call.payer.overheard ? forOthers(error as Refusal, refusal) : refusal
    }
    return this.#reserved < worst ? affordableTokens(this.#reserved) : null
  }

  async #reserveAmount(worst: Nano | null): Promise<null> {
    this.#reserved = await this.#ledger.reserve(this.call, worst)
    this.#isWhole = true
    return null
  }

  /** Reserves for this many images. Null (as for audio), and images without their own price, can't be bounded. */
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

  release(): void {
    this.#settled = true
    this.#ledger.release(this.call)
  }

  /** `answer` reports approximately how many characters have arrived, in case this process dies before the end. */
  sent(inputTokens: number, answer: { readonly characters: number }): void {
    const { pricing } = this.offer
    if (this.#isWhole) return this.#ledger.markSent(this.call, this.#reserved!)
    if (this.#reserved === null || pricing === null) return this.#ledger.markSent(this.call)
    const soFar = (): Nano => worstCost(pricing, inputTokens, Math.ceil(answer.characters / 4), 1)
    this.#ledger.markSent(this.call, worstCost(pricing, inputTokens, 0, 1), soFar)
  }

  /**
   * Only the first settlement counts. Returns the cost that the ledger counts: up to the reservation, if a balance or
   * cap applies.
   */
  settle(end: AttemptEnd): Nano | null {
    const nano = this.#settle(end)
    if (nano === null) return null
    const isGuarded = this.#reserved !== null && this.#ledger.isGuarded(this.call.payer, this.call.billing)
    return isGuarded && nano > this.#reserved! ? this.#reserved : clampCost(nano)
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

  /** Nothing is charged, unless the provider may still be working on the request. */
  fail(durationMs: number, isStream: boolean, isUnclear = false): void {
    if (this.#settled) return
    this.#settled = true
    const usage = usageOf({ requests: 1 })
    const isPriced = this.#isWhole || this.offer.pricing !== null || this.offer.endpoint.billing === 'free'
    const { nano: cost, source: costSource }: Cost =
      isUnclear && this.#isWhole ? this.#asHeld() : isPriced ? { nano: 0n, source: 'computed' } : unknown
    this.#ledger.settle(this.call, {
      status: 'failed',
      usage,
      cost,
      costSource,
      finishReason: null,
      firstTokenMs: null,
      durationMs,
      streamed: isStream,
    })
  }
}

const forOthers = ({ code, message, param, details }: Refusal, toPayer: Refusal): Refusal =>
  new Refusal(code, { message, ...(param !== undefined && { param }), ...(details && { details }), toPayer })

const PER_REQUEST = 16
const WITH_TOOLS = 512

interface WeighableRequest {
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
 * Under a cap one token per byte of text, else one per two bytes; no tokenizer produces more than one per byte. With
 * media or vendor tools, it is the model's context.
 */
export function inputBound(json: WeighableRequest, payer: Payer, contextLength: number | null): number {
  const weight = weigh(json)
  const request = json as Record<string, unknown>
  // The provider itself reads what is stored there, and what its own tools find.
  if (storedReferenceIn(request) !== null || vendorToolIn((name) => request[name]) !== null) weight.media++
  const hiddenTokens = PER_REQUEST + ((json.tools ?? json.functions ?? json.toolConfig) === undefined ? 0 : WITH_TOOLS)
  if (weight.media > 0) return contextLength ?? weight.text + weight.media + hiddenTokens
  return tokensIn(weight.text, payer) + hiddenTokens
}

/**
 * An upper bound without parsing, up to 1.5 times as high for conversations full of calls and escapes. Null: the body
 * must be parsed.
 */
export function roughInputBound(body: Body, payer: Payer): number | null {
  const text = roughText(body)
  if (text === null || storedReferenceInBody(body, false) !== null) return null
  if (vendorToolIn((name) => body.value(name)) !== null) return null
  return tokensIn(text, payer) + PER_REQUEST + WITH_TOOLS
}

const tokensIn = (bytes: number, { key, budgets }: Payer): number =>
  (key?.cap ?? null) !== null || (budgets?.some(({ nano }) => nano !== null) ?? false) ? bytes : Math.ceil(bytes / 2)
