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

export interface ClientRequest {
  readonly body: Body
  readonly format: PassthroughFormat
  bodyFor(offer: Offer): Body
}

/** Limit of counted answers: more than any provider generates, and expensive enough. */
const MAX_ANSWERS = 1_000_000

/** Completions generate answers per prompt, and more than they return. */
function answersIn(body: Body): number {
  const each = Math.max(1, ...countNames.map((name) => body.value(name)).filter((count) => typeof count === 'number'))
  const prompt = body.value('prompt')
  const prompts = Array.isArray(prompt) && typeof prompt[0] !== 'number' ? prompt.length : 1
  return Math.min(MAX_ANSWERS, Math.ceil(each) * Math.max(1, prompts))
}

/** Refuses ambiguous fields, and fields that cost more than the model's price. */
export function worstCaseOf(
  request: ClientRequest,
  { offer, variant }: Candidate,
  translation: TranslatedRequest | null,
  inputTokens: number,
): WorstCase {
  const { body, format } = request
  if (format.media) {
    const nano = format.media.worst?.(offer)
    if (nano === undefined) return { images: format.media.images?.(body.json) ?? null, inputTokens }
    guardPrice((name) => (name === 'speed' ? undefined : body.value(name)), variant, offer.endpoint)
    refuseTwice(body)
    return { nano }
  }
  const sentBody = translation === null ? request.bodyFor(offer) : null
  guardPrice((name) => (sentBody === null ? translation!.body[name] : sentBody.value(name)), variant, offer.endpoint)
  // A duplicate limit or price could be read differently by the provider.
  refuseTwice(body)
  // A value that isn't a number here may be one to the provider, and some read a limit below 1 as none.
  const least = (field: string, from: number): void => {
    const value = body.value(field) ?? null
    if (value !== null && !(typeof value === 'number' && value >= from))
      refuse('invalid_parameter', { param: field, message: `\`${field}\` must be a number of at least ${from}.` })
  }
  for (const field of format.limitFields) least(field, 1)
  for (const field of countNames) least(field, 0)
  const uncoveredField = sentBody === null ? null : uncountedIn(sentBody, format.limitFields)
  if (uncoveredField !== null)
    refuse('invalid_parameter', {
      param: uncoveredField,
      message: `\`${uncoveredField}\` might change the cost of the request and isn’t priced here. Leave it out, or use your own provider key without a spend cap.`,
    })
  let highest: { field: string; tokens: number } | null = null
  for (const field of format.limitFields) {
    const tokens = body.value(field)
    if (typeof tokens === 'number' && tokens > (highest?.tokens ?? -1)) highest = { field, tokens }
  }
  const { maxOutputTokens, contextLength } = offer
  const extraTokens = format.boundless ? (maxOutputTokens ?? contextLength ?? inputTokens) : 0
  return {
    inputTokens,
    maxTokens:
      highest === null
        ? format.limitFields.length > 0
          ? null
          : extraTokens
        : limitAt(offer, highest.tokens, translation === null ? format.shape : offer.endpoint.shape),
    n: answersIn(body),
    limitField: highest?.field ?? format.limitFields.at(-1) ?? null,
  }
}

export const limitAt = (offer: Offer, tokens: number, shape: Offer['endpoint']['shape']): number =>
  isSimulated(offer) ? Math.ceil(tokens) : raisedLimit(Math.ceil(tokens), shape)
