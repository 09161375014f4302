import { isObject, type Json } from '../model/json.ts'
import type { MediaRequest, PixelSize } from './adapter.ts'

/** The contract's names for fields that the request names otherwise. */
const contractNames: Readonly<Record<string, string>> = {
  aspectRatio: 'aspect_ratio',
  outputFormat: 'output_format',
  negativePrompt: 'negative_prompt',
  firstFrame: 'image',
  lastFrame: 'last_frame',
  references: 'reference_images',
}

/**
 * The fields among these that the request fills, by their names in the contract: the vendor has no word for them, so
 * they are lost.
 */
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
 * Our fields with the caller's `provider_options`, which go to the vendor as they are. Where both say something ours
 * hold, for they were priced. Objects that both have are put together. What is undefined or null says nothing.
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

/** Names by which vendors know what a price may depend on: written small, without what stands between words. */
const CHOICES = {
  size: ['size', 'imagesize', 'width', 'height', 'megapixels', 'dimensions'],
  quality: ['quality', 'tier', 'mode', 'renderingspeed'],
  resolution: ['resolution', 'imagesize', 'videosize', 'size', 'width', 'height', 'quality'],
  audio: ['audio', 'generateaudio', 'withaudio', 'enableaudio', 'sound'],
} as const
export type Choice = keyof typeof CHOICES

/**
 * The choices in `provider_options`, at any depth, that a price may depend on: the vendor may follow them, and not the
 * request.
 */
export function choicesIn({ providerOptions }: MediaRequest): ReadonlySet<Choice> {
  const names = namesIn(providerOptions)
  const choices = Object.entries(CHOICES) as [Choice, readonly string[]][]
  return new Set(choices.filter(([, known]) => known.some((name) => names.has(name))).map(([choice]) => choice))
}

const COUNTS = {
  n: [
    'n',
    'numimages',
    'numoutputs',
    'numberofimages',
    'numimagesperprompt',
    'imagecount',
    'samples',
    'numsamples',
  ].concat(['samplecount', 'candidatecount', 'batchsize', 'maximages', 'framecount']),
  seconds: ['seconds', 'duration', 'durationseconds', 'videolength', 'numframes', 'frames', 'numseconds', 'length'],
  input: ['text', 'input', 'inputs', 'gentext', 'ssml', 'script'],
  audio: ['url', 'audiourl', 'cloudstorageurl', 'sourceurl', 'multichannel', 'usemultichannel'],
  model: ['model', 'modelid', 'modelname', 'modelversion'],
} as const
const COUNTED: Readonly<Record<MediaRequest['kind'], readonly (keyof typeof COUNTS)[]>> = {
  image: ['n', 'model'],
  video: ['n', 'seconds', 'model'],
  speech: ['input', 'model'],
  transcription: ['audio', 'model'],
}

/**
 * The first of `provider_options` that says how much is to be made, or by what: of that the contract's own field is priced
 * and held, `field`, and nothing else may say it. Null: none does.
 */
export function countIn(options: Readonly<Json>, kind: MediaRequest['kind']): { name: string; field: string } | null {
  const names = namesIn(options)
  for (const field of COUNTED[kind])
    for (const known of COUNTS[field]) {
      const name = names.get(known)
      if (name !== undefined) return { name, field }
    }
  return null
}

/** The names of fields at any depth, by how they are compared. */
function namesIn(value: unknown, names = new Map<string, string>()): ReadonlyMap<string, string> {
  if (Array.isArray(value)) for (const one of value) namesIn(one, names)
  if (!isObject(value)) return names
  for (const [name, one] of Object.entries(value)) {
    // NFKC writes letters that readers fold to ASCII ones, as U+017F, in ASCII.
    names.set(
      name
        .normalize('NFKC')
        .toLowerCase()
        .replaceAll(/[^a-z0-9]/g, ''),
      name,
    )
    namesIn(one, names)
  }
  return names
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
