import { absent } from '#core/errors.ts'
import { shorten } from '#core/text/shorten.ts'
import { type Principal, hasScope } from '#core/principal.ts'
import type { Directory, ListedOffer } from '../../model/offer.ts'
import { nearModel } from './near-model.ts'
import { splitVariant, variantHint } from './variants.ts'

type Names = readonly Pick<ListedOffer, 'slug'>[]
const none: Names = []
/** Real model names are shorter. Longer ones are truncated and get no suggestions. */
const LONGEST_NAME = 300

/**
 * The models that GET /models lists. Empty for calls on someone's behalf, such as in a run, because others read the
 * result too.
 */
export const visibleModels = (
  directory: Pick<Directory, 'models'>,
  principal: Principal,
  within = principal,
): Names | Promise<Names> =>
  principal.credential.kind === 'server' || !hasScope(principal, 'model:read') ? none : directory.models(within)

/** Models that only others can use look the same as unknown ones. */
export function noSuchModel(model: string, names: Names, hasSuffixes = false): string {
  if (model.length > LONGEST_NAME) return absent(`model \`${shorten(model, LONGEST_NAME)}\``)
  const hint = variantHint(model)
  const near = hint === '' ? nearModel(model, names) : null
  const { suffix } = splitVariant(model)
  const suggestedName = near === null || suffix === '' || !hasSuffixes ? near : `${near}:${suffix}`
  const suggestion = suggestedName === null || suggestedName === model ? '' : ` Did you mean \`${suggestedName}\`?`
  return `${absent(`model \`${model}\``)}${hint}${suggestion}`
}

export const unknownModel = (
  { roots: [root] }: { readonly roots: readonly string[] },
  model: string,
  names: Names,
  hasSuffixes = false,
): string => `${noSuchModel(model, names, hasSuffixes)} \`GET ${root}/models\` lists the available models.`
