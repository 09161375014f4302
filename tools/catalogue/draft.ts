import type { CatalogueModel } from '#gateway/catalogue/model.ts'

/** The facts that a source can give on a model; the rest is in no source. */
export type Draft = Omit<CatalogueModel, 'slug' | 'capability_index' | 'capability_index_source' | 'released_at'>

/** The shortest decimal of a JSON number is the one that the source wrote. */
export function decimal(price: number): string {
  const words = String(price)
  if (!/^\d+(\.\d{1,9})?$/.test(words)) throw new RangeError(`not an exact price: ${words}`)
  return words
}
