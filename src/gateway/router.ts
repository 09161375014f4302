import type { Offer, Shape } from './directory.ts'

/** What a caller wants of a route. A live call and `routing-preview` give the same and get the same. */
export interface Wish {
  /** The draw's; the same seed draws the same order. */
  seed: number
  /** Shapes that can be served; empty is any. */
  shapes?: readonly Shape[]
  /** Capabilities that the model must have, where it is known which it has. */
  needs?: readonly string[]
  inputTokens?: number
  maxTokens?: number
  /** Slugs of providers. */
  only?: readonly string[]
  ignore?: readonly string[]
}

export interface Candidate {
  offer: Offer
  /** Its share of the calls of its rank, 0–1. */
  weight: number
  /** Why it stands where it stands, for people. */
  reason: string
}

export interface Route {
  /** In the order in which they are tried. */
  candidates: Candidate[]
  excluded: { offer: Offer; reason: Excluded }[]
}

export type Excluded = 'shape' | 'only' | 'ignore' | 'capability' | 'context' | 'max_tokens'

/** Offers → the order in which they are asked. Pure: the failures and the seed come in. */
export function route(offers: readonly Offer[], wish: Wish, failedRecently: (offer: Offer) => boolean): Route {
  const excluded: Route['excluded'] = []
  const left: Offer[] = []
  for (const offer of offers) {
    const reason = whyNot(offer, wish, offers.length === 1)
    if (reason) excluded.push({ offer, reason })
    else left.push(offer)
  }
  const shares = weigh(left)
  const ranked = left.map((offer, index) => {
    const failed = failedRecently(offer)
    const share = shares[index]!
    // Exponential keys: the smallest of them is drawn first, in proportion to the weights (Efraimidis and Spirakis, 2006).
    const key =
      share === 0 ? Infinity : -Math.log(draw(wish.seed, `${offer.endpoint.id} ${offer.upstreamModel}`)) / share
    return { offer, failed, key, rank: rankOf(offer), weight: share }
  })
  ranked.sort(
    (a, b) =>
      Number(a.failed) - Number(b.failed) ||
      a.rank - b.rank ||
      a.offer.endpoint.priority - b.offer.endpoint.priority ||
      a.key - b.key,
  )
  return {
    candidates: ranked.map(({ offer, failed, weight }) => ({
      offer,
      weight,
      reason: failed ? 'failed in the last 30 seconds' : reasonOf(offer),
    })),
    excluded,
  }
}

/** With nobody else to ask, data that may be old or wrong does not keep the only offer from being asked. */
function whyNot(offer: Offer, wish: Wish, alone: boolean): Excluded | null {
  if (wish.shapes?.length && !wish.shapes.includes(offer.endpoint.shape)) return 'shape'
  if (wish.only?.length && !wish.only.includes(offer.endpoint.slug)) return 'only'
  if (wish.ignore?.includes(offer.endpoint.slug)) return 'ignore'
  if (alone) return null
  if (offer.capabilities.length > 0 && wish.needs?.some((need) => !offer.capabilities.includes(need)))
    return 'capability'
  if (offer.contextLength !== null && (wish.inputTokens ?? 0) > offer.contextLength) return 'context'
  if (offer.maxOutputTokens !== null && (wish.maxTokens ?? 0) > offer.maxOutputTokens) return 'max_tokens'
  return null
}

/** The caller's own endpoints and the free ones before the instance's on credits. */
const rankOf = ({ endpoint }: Offer): number => (endpoint.billing === 'credits' ? 1 : 0)

const reasonOf = ({ endpoint }: Offer): string =>
  endpoint.billing === 'byok' ? 'your own endpoint' : endpoint.billing === 'free' ? 'free' : 'weight by price'

/** Each one's share among those of its rank and priority: its endpoint's weight by 1/price². */
function weigh(offers: readonly Offer[]): number[] {
  const prices = offers.map(priceOf)
  const dearest = Math.max(...prices.filter((price) => price !== null), 1e-3)
  const raw = offers.map(
    ({ endpoint }, index) => Math.max(0, endpoint.weight) / Math.max(prices[index] ?? dearest, 1e-3) ** 2,
  )
  const groupOf = (offer: Offer): string => `${rankOf(offer)} ${offer.endpoint.priority}`
  const sums = new Map<string, number>()
  offers.forEach((offer, index) => sums.set(groupOf(offer), (sums.get(groupOf(offer)) ?? 0) + raw[index]!))
  return offers.map((offer, index) => {
    const sum = sums.get(groupOf(offer))!
    return sum === 0 ? 0 : raw[index]! / sum
  })
}

/** One figure to compare by: a million tokens in and a million out. Null: in no source. */
export const priceOf = ({ pricing }: Offer): number | null =>
  pricing === null ? null : Number(pricing.input) + Number(pricing.output)

/** A number in (0, 1] that hangs on the seed and the words alone (FNV-1a, then the finaliser of MurmurHash3). */
function draw(seed: number, words: string): number {
  let hash = 0x811c9dc5 ^ seed
  for (let i = 0; i < words.length; i++) hash = Math.imul(hash ^ words.charCodeAt(i), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (((hash ^ (hash >>> 16)) >>> 0) + 1) / 2 ** 32
}

export const newSeed = (): number => (Math.random() * 2 ** 32) >>> 0

const SET_ASIDE_MS = 30_000
const REMEMBERED = 10_000

/** Which offers failed lately, in this process's memory. */
export class Failures {
  readonly #at = new Map<string, number>()

  note(offer: Offer, now: number = performance.now()): void {
    const key = keyOf(offer)
    this.#at.delete(key)
    this.#at.set(key, now)
    if (this.#at.size > REMEMBERED)
      for (const [old] of this.#at) {
        this.#at.delete(old)
        break
      }
  }

  forget(offer: Offer): void {
    if (this.#at.size > 0) this.#at.delete(keyOf(offer))
  }

  recent(offer: Offer, now: number = performance.now()): boolean {
    const at = this.#at.size === 0 ? undefined : this.#at.get(keyOf(offer))
    return at !== undefined && now - at < SET_ASIDE_MS
  }
}

const keyOf = ({ endpoint, upstreamModel }: Offer): string => `${endpoint.id} ${upstreamModel}`
