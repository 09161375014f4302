import { refuse } from '#core/errors.ts'
import { type Principal, hasScope } from '#core/principal.ts'
import type { MediaKind } from '../catalogue/media.ts'
import type { Directory, ListedOffer, MediaOffer } from '../model/offer.ts'
import { isMediaOffer, pricedForMedia } from '../model/offer.ts'
import { type RequestedModel, newSeed } from '../routing/router.ts'
import type { Candidate } from '../routing/router.ts'
import type { RoutingConstraints } from '../routing/constraints.ts'
import { choose } from '../routing/choose.ts'
import type { HealthView } from '../routing/health.ts'
import { noSuchModel } from '../routing/model-names/unknown-model.ts'

const words: Record<MediaKind, { makes: string; list: string }> = {
  image: { makes: 'generate images', list: '/images/models' },
  video: { makes: 'generate videos', list: '/videos/models' },
  speech: { makes: 'speak', list: '/audio/models?kind=speech' },
  transcription: { makes: 'transcribe audio', list: '/audio/models?kind=transcription' },
}

export interface MediaDirectory extends Pick<Directory, 'offers'> {
  mediaModels(principal: Principal): readonly ListedOffer[] | Promise<readonly ListedOffer[]>
}

export interface MediaCandidate extends Candidate {
  offer: MediaOffer
}

/**
 * Refuses with 404 `not_found`, 400 `unsupported_model` for a model of another kind, and 503 `no_route` for a local
 * model that isn't installed.
 */
export async function mediaOffers(
  directory: MediaDirectory,
  principal: Principal,
  model: string,
  kind: MediaKind,
): Promise<RequestedModel> {
  const offers = await directory.offers(principal, model)
  const fit = offers.filter(isMediaOffer).filter(({ media }) => media.kind === kind)
  if (fit.length > 0) return { model, offers: fit.map(pricedForMedia) }
  const { makes, list } = words[kind]
  if (offers.length > 0)
    refuse('unsupported_model', {
      param: 'model',
      message: `\`${model}\` can’t ${makes}. \`GET ${list}\` lists the models that can.`,
    })
  if (model.startsWith('local/')) refuse('no_route', { param: 'model', message: whatToInstall(model, kind) })
  // As in `visibleModels`: for calls on someone's behalf, others read the result too.
  const mayKnow = principal.credential.kind !== 'server' && hasScope(principal, 'model:read')
  const models = mayKnow ? await directory.mediaModels(principal) : []
  return refuse('not_found', {
    param: 'model',
    message: `${noSuchModel(
      model,
      models.filter(({ media }) => media?.kind === kind),
    )} \`GET ${list}\` lists the available models.`,
  })
}

const whatToInstall = (model: string, kind: MediaKind): string =>
  model === 'local/espeak-ng'
    ? '`local/espeak-ng` isn’t installed on the server. Install it (on Debian: apt-get install espeak-ng) and restart the server.'
    : kind === 'transcription'
      ? `No provider has \`${model}\` right now. Install sherpa-onnx and this model on your computer (\`POST /computers/:id/local-inference\` and \`/local-inference/models\`), or add a server that has it as a provider endpoint.`
      : `No provider has \`${model}\` right now. Install the model on your computer, or add a server that has it as a provider endpoint.`

/**
 * By the rules and preferences of every call (contract, part 7). Refuses as `mediaOffers` does, and with `no_route`.
 */
export async function mediaCandidates(
  directory: MediaDirectory,
  health: HealthView,
  principal: Principal,
  { model, kind, ...constraints }: { model: string; kind: MediaKind } & Partial<RoutingConstraints>,
): Promise<readonly MediaCandidate[]> {
  const offers = await mediaOffers(directory, principal, model, kind)
  const candidates = choose([offers], { seed: newSeed(), ...constraints }, health, false, {
    unserved: (name) => noSuchModel(name, []),
    shapes: (shapes) => `\`${model}\` is served in the API format ${shapes}, which can’t ${words[kind].makes}.`,
  })
  return candidates as readonly MediaCandidate[]
}
