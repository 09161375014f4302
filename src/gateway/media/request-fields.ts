import { isObject, type Json } from '../model/json.ts'
import type { MediaRequest, PixelSize } from './adapter.ts'

/** Where the contract calls a field by another name than the request does. */
const contractNames: Readonly<Record<string, string>> = {
  aspectRatio: 'aspect_ratio',
  outputFormat: 'output_format',
  negativePrompt: 'negative_prompt',
  firstFrame: 'image',
  lastFrame: 'last_frame',
  references: 'reference_images',
}

/** Of these fields the ones that the request fills, by their names in the contract: what a vendor has no word for is lost. */
export function lossesIn<R extends MediaRequest>(request: R, ...fields: (keyof R & string)[]): string[] {
  return fields.filter((field) => isSaid(request[field])).map((field) => contractNames[field] ?? field)
}

const isSaid = (value: unknown): boolean =>
  value !== null &&
  value !== undefined &&
  value !== false &&
  value !== 'none' &&
  !(Array.isArray(value) && value.length === 0)

/**
 * What goes to the vendor as it is, beside what the request says in the contract's words: those hold, for they were priced.
 * Objects that both have are put together. What is undefined or null says nothing.
 */
export function withOptions(options: Readonly<Json>, ours: Json): Json {
  const all: Json = { ...options }
  for (const [name, value] of Object.entries(ours)) {
    if (value === undefined || value === null) continue
    const given = all[name]
    all[name] = isObject(value) && isObject(given) ? { ...given, ...value } : value
  }
  return all
}

/** `provider_options` as fields of a form: lists as they are, objects as JSON. */
export function formOptions(options: Readonly<Json>, ours: Iterable<string>): [string, string | string[]][] {
  const names = new Set(ours)
  return Object.entries(options)
    .filter(([name, value]) => value !== null && value !== undefined && !names.has(name))
    .map(([name, value]) => [name, Array.isArray(value) ? value.map(wordOf) : wordOf(value)])
}

const wordOf = (value: unknown): string => (typeof value === 'object' ? JSON.stringify(value) : String(value))

export const sizeWords = (size: PixelSize | null): string | undefined =>
  size === null ? undefined : `${size.width}x${size.height}`

/** A size as the ratio of its sides in whole numbers, `16:9`. */
export function ratioOf({ width, height }: PixelSize): string {
  let [a, b] = [width, height]
  while (b !== 0) [a, b] = [b, a % b]
  return `${width / a}:${height / a}`
}

/** The language of a BCP 47 tag alone, as in ISO 639: `en` of `en-GB`. */
export const baseLanguage = (tag: string | null): string | undefined => tag?.split('-')[0]?.toLowerCase()

/** Unicode code points, in which vendors count what is spoken. */
export const charactersOf = (text: string): number => [...text].length
