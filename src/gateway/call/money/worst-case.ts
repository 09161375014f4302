import { refuse } from '#kernel/errors.ts'
import { type Body, locate } from '../../model/body.ts'
import type { Offer } from '../../model/offer.ts'
import type { PassthroughFormat } from '../../passthrough/formats/format.ts'
import type { Candidate } from '../../routing/router.ts'
import { isSimulated } from '../../sim/offers.ts'
import type { TranslatedRequest } from '../../translation/translate.ts'
import { raised } from '../../wire/shared/least-output.ts'
import type { WorstCase } from './metering.ts'
import { guardPrice } from './price-guard.ts'

/** A client's request, in the fields that bound its answer. */
interface Sent {
  readonly body: Body
  readonly format: PassthroughFormat
  bodyFor(offer: Offer): Body
}

/** More answers to one question than anybody gives: what is asked for beyond it is dear enough. */
const MOST_ANSWERS = 1_000_000

/** How many answers are made and paid for: completions have some for each of their prompts, and more than they show. */
function answersIn({ n, best_of: best, prompt }: Record<string, unknown>): number {
  const each = Math.max(1, ...[n, best].filter((count) => typeof count === 'number'))
  const prompts = Array.isArray(prompt) && typeof prompt[0] !== 'number' ? prompt.length : 1
  return Math.min(MOST_ANSWERS, Math.ceil(each) * Math.max(1, prompts))
}

/** The most that a client's request may cost at this candidate. Refuses fields that could be read in two ways, or cost more than the model's price. */
export function worstCaseOf(
  sent: Sent,
  { offer, variant }: Candidate,
  translated: TranslatedRequest | null,
  inputTokens: number,
): WorstCase {
  const { body, format } = sent
  const { json } = body
  if (format.media) return { images: format.media.images?.(json) ?? null, inputTokens }
  // What is sent, which a translation or the routing constraints have made another thing of.
  guardPrice(translated?.body ?? sent.bodyFor(offer).json, variant, offer.endpoint)
  // A bound that is there twice could be read as another one by the provider than by us.
  for (const field of [...format.limitFields, 'n', 'best_of', 'prompt'])
    if (Object.hasOwn(json, field)) locate(body, field)
  // A value that is not a number here may be one to the provider.
  for (const field of [...format.limitFields, 'n', 'best_of']) {
    const value = json[field] ?? null
    if (value !== null && !(typeof value === 'number' && value >= 0))
      refuse('invalid_parameter', { param: field, message: `\`${field}\` must be a number from 0.` })
  }
  let highest: { field: string; tokens: number } | null = null
  for (const field of format.limitFields) {
    const tokens = json[field]
    if (typeof tokens === 'number' && tokens > (highest?.tokens ?? -1)) highest = { field, tokens }
  }
  const { maxOutputTokens, contextLength } = offer
  const unbounded = format.boundless ? (maxOutputTokens ?? contextLength ?? inputTokens) : 0
  return {
    inputTokens,
    maxTokens:
      highest === null
        ? format.limitFields.length > 0
          ? null
          : unbounded
        : limitAt(offer, highest.tokens, translated === null ? format.shape : offer.endpoint.shape),
    n: answersIn(json),
    limitField: highest?.field ?? format.limitFields.at(-1) ?? null,
  }
}

/** A limit of the output as this offer will be asked for it in this shape. */
export const limitAt = (offer: Offer, tokens: number, shape: Offer['endpoint']['shape']): number =>
  isSimulated(offer) ? Math.ceil(tokens) : raised(Math.ceil(tokens), shape)
