import { Refusal } from '#core/errors.ts'
import type { Principal } from '#core/principal.ts'
import type { Directory, Offer } from '../../model/offer.ts'
import type { RequestedModel } from '../router.ts'
import type { RoutingConstraints } from '../constraints.ts'

const virtual: Readonly<Record<string, Partial<RoutingConstraints>>> = {
  floor: { sort: 'price' },
  nitro: { sort: 'throughput' },
  exacto: { sort: 'exacto' },
  online: { relayed: ':online' },
}

/** Suffixes of separately listed models, with an alternative if they aren't listed. */
const listedVariants: Readonly<Record<string, string>> = {
  free: 'No provider offers this model for free.',
  extended: 'It has no variant with a larger context.',
  thinking: 'It has no reasoning variant. Send `reasoning: {effort}` with the plain name.',
  batch: 'It has no batch endpoint. Use the plain name.',
}

/** An empty `suffix`: a colon is part of the name. */
export function splitVariant(name: string): { base: string; suffix: string } {
  const colon = name.lastIndexOf(':')
  const suffix = colon > 0 ? name.slice(colon + 1).toLowerCase() : ''
  return Object.hasOwn(virtual, suffix) || Object.hasOwn(listedVariants, suffix)
    ? { base: name.slice(0, colon), suffix }
    : { base: name, suffix: '' }
}

export function variantHint(name: string): string {
  const { base, suffix } = splitVariant(name)
  return suffix !== '' && Object.hasOwn(listedVariants, suffix)
    ? ` ${listedVariants[suffix]} Use \`${base}\` instead.`
    : ''
}

/** Models without a provider have no offers. A single unknown model is refused. */
export function requestedModels(
  directory: Pick<Directory, 'offers'>,
  principal: Principal,
  models: readonly string[],
): RequestedModel[] | Promise<RequestedModel[]> {
  const requests: (RequestedModel | Promise<RequestedModel>)[] = models.map((model) =>
    askedModel(directory, principal, model),
  )
  if (requests.every((one) => !(one instanceof Promise))) return requests as RequestedModel[]
  return Promise.all(
    requests.map((one, i) =>
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
    // A model listed under this exact name wins, or else any free provider of the plain model.
    if (offers.length > 0 || suffix !== 'free') return { model, offers }
    return withOffers(directory.offers(principal, base), (all) => ({ model, offers: all, more: { free: true } }))
  })
}

const withOffers = <T>(
  offers: readonly Offer[] | Promise<readonly Offer[]>,
  work: (offers: readonly Offer[]) => T | Promise<T>,
): T | Promise<T> => (offers instanceof Promise ? offers.then(work) : work(offers))
