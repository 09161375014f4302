import { refuse } from '#core/errors.ts'
import { type Body, refuseTwice } from '../../model/body.ts'
import type { Offer } from '../../model/offer.ts'
import type { PassthroughFormat } from '../../passthrough/formats/format.ts'
import type { Candidate } from '../../routing/router.ts'
import { isSimulated } from '../../sim/offers.ts'
import type { TranslatedRequest } from '../../translation/translate.ts'
import { raisedLimit } from '../../wire/shared/least-output.ts'
import { countNames, uncountedIn } from './cost-names.ts'
import type { WorstCase } from './metering.ts'
import { guardPrice } from './price-guard.ts'

/** A client's request, in the fields that bound its answer. */
interface Sent {
  readonly body: Body
  readonly format: PassthroughFormat
  bodyFor(offer: Offer): Body
}

/** The most answers to one question that are counted: more than anybody gives, and dear enough. */
const MOST_ANSWERS = 1_000_000

/** The number of answers that are made and paid for: completions have some for each of their prompts, and more than they show. */
function answersIn(body: Body): number {
  const each = Math.max(1, ...countNames.map((name) => body.value(name)).filter((count) => typeof count === 'number'))
  const prompt = body.value('prompt')
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
  if (format.media) {
    const nano = format.media.worst?.(offer)
    if (nano === undefined) return { images: format.media.images?.(body.json) ?? null, inputTokens }
    // Of sound `speed` is how fast it is spoken.
    guardPrice((name) => (name === 'speed' ? undefined : body.value(name)), variant, offer.endpoint)
    refuseTwice(body)
    return { nano }
  }
  // The body that is sent, which a translation or the routing constraints have made another thing of.
  const asked = translated === null ? sent.bodyFor(offer) : null
  guardPrice((name) => (asked === null ? translated!.body[name] : asked.value(name)), variant, offer.endpoint)
  // What is there twice, a bound or a price, could be read as another one by the provider than by us.
  refuseTwice(body)
  // A value that is not a number here may be one to the provider, and some take a limit below 1 for none at all.
  const least = (field: string, from: number): void => {
    const value = body.value(field) ?? null
    if (value !== null && !(typeof value === 'number' && value >= from))
      refuse('invalid_parameter', { param: field, message: `\`${field}\` must be a number of at least ${from}.` })
  }
  for (const field of format.limitFields) least(field, 1)
  for (const field of countNames) least(field, 0)
  const uncounted = asked === null ? null : uncountedIn(asked, format.limitFields)
  if (uncounted !== null)
    refuse('invalid_parameter', {
      param: uncounted,
      message: `\`${uncounted}\` might change the cost of the request and isn’t priced here. Leave it out, or use your own provider key without a spend cap.`,
    })
  let highest: { field: string; tokens: number } | null = null
  for (const field of format.limitFields) {
    const tokens = body.value(field)
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
    n: answersIn(body),
    limitField: highest?.field ?? format.limitFields.at(-1) ?? null,
  }
}

/** A limit of the output as this offer will be asked for it in this shape. */
export const limitAt = (offer: Offer, tokens: number, shape: Offer['endpoint']['shape']): number =>
  isSimulated(offer) ? Math.ceil(tokens) : raisedLimit(Math.ceil(tokens), shape)
