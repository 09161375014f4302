import type { Listed } from '../directory.ts'
import { nearModel } from '../near-model.ts'
import { variantHint } from '../variants.ts'
import type { Surface } from './surface.ts'

type Names = readonly Pick<Listed, 'slug'>[]

/**
 * What is said of a model that this caller has no way to. One that others may call is not told from one that is nowhere.
 * `offered`: what the caller is listed, of which one may have been meant.
 */
export function noSuchModel(model: string, offered: Names): string {
  const hint = variantHint(model)
  const near = hint === '' ? nearModel(model, offered) : null
  return `The model \`${model}\` does not exist, or you have no access to it.${hint}${near === null ? '' : ` Did you mean \`${near}\`?`}`
}

/** The same, and where the surface lists what there is. */
export const unknownModel = ({ roots: [root] }: Pick<Surface, 'roots'>, model: string, offered: Names): string =>
  `${noSuchModel(model, offered)} GET ${root}/models lists what you can call.`
