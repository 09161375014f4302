import { variantHint } from '../variants.ts'
import type { Surface } from './surface.ts'

/** What is said of a model that this caller has no way to. One that others may call is not told from one that is nowhere. */
export const unknownModel = ({ roots: [root] }: Pick<Surface, 'roots'>, model: string): string =>
  `The model \`${model}\` does not exist, or you have no access to it.${variantHint(model)} GET ${root}/models lists what you can call.`
