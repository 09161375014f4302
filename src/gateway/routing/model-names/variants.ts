import { Refusal } from '#core/errors.ts'
import type { Principal } from '#core/principal.ts'
import type { Directory, Offer } from '../../model/offer.ts'
import type { RequestedModel } from '../router.ts'
import type { RoutingConstraints } from '../constraints.ts'

/** Suffixes that any model takes: each is a constraint. */
const virtual: Readonly<Record<string, Partial<RoutingConstraints>>> = {
  floor: { sort: 'price' },
  nitro: { sort: 'throughput' },
  exacto: { sort: 'exacto' },
  online: { relayed: ':online' },
}

/** Suffixes of variants that are listed as models of their own, with what would be right where they are not. */
const listed: Readonly<Record<string, string>> = {
  free: 'No provider offers this model for free.',
  extended: 'It has no variant with a larger context.',
  thinking: 'It has no reasoning variant. Send `reasoning: {effort}` with the plain name.',
  batch: 'It has no batch endpoint. Use the plain name.',
}

/** Splits `model:suffix` where the suffix is one of OpenRouter's; `suffix` empty: it is part of the name, if there is one. */
export function splitVariant(name: string): { base: string; suffix: string } {
  const colon = name.lastIndexOf(':')
  const suffix = colon > 0 ? name.slice(colon + 1).toLowerCase() : ''
  return Object.hasOwn(virtual, suffix) || Object.hasOwn(listed, suffix)
    ? { base: name.slice(0, colon), suffix }
    : { base: name, suffix: '' }
}

/** Why a name with a suffix leads nowhere, where something can be said about it. */
export function variantHint(name: string): string {
  const { base, suffix } = splitVariant(name)
  return suffix !== '' && Object.hasOwn(listed, suffix) ? `${listed[suffix]} Use \`${base}\` instead.` : ''
}

/**
 * The models asked for, suffixes read, with who serves each for this caller. Models that nobody serves have no offers, and of
 * several one may be unknown; one alone is refused then.
 */
export function requestedModels(
  directory: Pick<Directory, 'offers'>,
  principal: Principal,
  models: readonly string[],
): RequestedModel[] | Promise<RequestedModel[]> {
  const found: (RequestedModel | Promise<RequestedModel>)[] = models.map((model) =>
    askedModel(directory, principal, model),
  )
  if (found.every((one) => !(one instanceof Promise))) return found as RequestedModel[]
  return Promise.all(
    found.map((one, i) =>
      Promise.resolve(one).catch((error: unknown): RequestedModel => {
        if (!(error instanceof Refusal) || models.length === 1) throw error
        return { model: models[i]!, offers: [], unknown: error }
      }),
    ),
  )
}

function askedModel(
  directory: Pick<Directory, 'offers'>,
  principal: Principal,
  model: string,
): RequestedModel | Promise<RequestedModel> {
  const { base, suffix } = splitVariant(model)
  const more = virtual[suffix]
  if (more !== undefined)
    return withOffers(directory.offers(principal, base), (offers) => ({ model, offers, more, variant: `:${suffix}` }))
  return withOffers(directory.offers(principal, model), (offers) => {
    // A listing of that very name is meant; else whoever serves the plain model for nothing.
    if (offers.length > 0 || suffix !== 'free') return { model, offers }
    return withOffers(directory.offers(principal, base), (all) => ({ model, offers: all, more: { free: true } }))
  })
}

const withOffers = <T>(
  offers: readonly Offer[] | Promise<readonly Offer[]>,
  work: (offers: readonly Offer[]) => T | Promise<T>,
): T | Promise<T> => (offers instanceof Promise ? offers.then(work) : work(offers))
