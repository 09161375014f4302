import { absent } from '#core/errors.ts'
import { shorten } from '#core/text/shorten.ts'
import { type Principal, hasScope } from '#core/principal.ts'
import type { Directory, Listed } from '../../model/offer.ts'
import { nearModel } from './near-model.ts'
import { splitVariant, variantHint } from './variants.ts'

type Names = readonly Pick<Listed, 'slug'>[]
const none: Names = []
/** Names of models are shorter: of a longer one a part is shown, and no other name is near it. */
const LONGEST_NAME = 300

/**
 * Models that this caller may be told of: those that GET /models would list to it. What the server is told on somebody's behalf,
 * as in a run, others read too: nothing. `within`: as whom the model is asked, where that is not the caller itself.
 */
export const visibleModels = (
  directory: Pick<Directory, 'models'>,
  principal: Principal,
  within = principal,
): Names | Promise<Names> =>
  principal.credential.kind === 'server' || !hasScope(principal, 'model:read') ? none : directory.models(within)

/**
 * The message for a model that this caller has no way to. One that others may call is not told from one that is nowhere.
 * `offered`: what the caller may be told of, of which one may have been meant. `suffixed`: suffixes are read here.
 */
export function noSuchModel(model: string, offered: Names, suffixed = false): string {
  if (model.length > LONGEST_NAME) return absent(`model \`${shorten(model, LONGEST_NAME)}\``)
  const hint = variantHint(model)
  const near = hint === '' ? nearModel(model, offered) : null
  const { suffix } = splitVariant(model)
  const meant = near === null || suffix === '' || !suffixed ? near : `${near}:${suffix}`
  const suggestion = meant === null || meant === model ? '' : ` Did you mean \`${meant}\`?`
  return `${absent(`model \`${model}\``)}${hint}${suggestion}`
}

/** The same, and where the surface lists what there is. */
export const unknownModel = (
  { roots: [root] }: { readonly roots: readonly string[] },
  model: string,
  offered: Names,
  suffixed = false,
): string => `${noSuchModel(model, offered, suffixed)} \`GET ${root}/models\` lists the available models.`
