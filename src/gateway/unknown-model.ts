import type { Listed } from './directory.ts'
import { nearModel } from './near-model.ts'
import type { Surface } from './surfaces/surface.ts'
import { splitVariant, variantHint } from './variants.ts'

type Names = readonly Pick<Listed, 'slug'>[]

/**
 * What is said of a model that this caller has no way to. One that others may call is not told from one that is nowhere.
 * `offered`: what the caller may be told of, of which one may have been meant. `suffixed`: suffixes are read here.
 */
export function noSuchModel(model: string, offered: Names, suffixed = false): string {
  const hint = variantHint(model)
  const near = hint === '' ? nearModel(model, offered) : null
  const { suffix } = splitVariant(model)
  const meant = near === null || suffix === '' || !suffixed ? near : `${near}:${suffix}`
  const question = meant === null || meant === model ? '' : ` Did you mean \`${meant}\`?`
  return `The model \`${model}\` does not exist, or you have no access to it.${hint}${question}`
}

/** The same, and where the surface lists what there is. */
export const unknownModel = (
  { roots: [root] }: Pick<Surface, 'roots'>,
  model: string,
  offered: Names,
  suffixed = false,
): string => `${noSuchModel(model, offered, suffixed)} GET ${root}/models lists what you can call.`
