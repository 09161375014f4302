import { isObject, type Json } from '../model/json.ts'
import type { MediaRequest, PixelSize } from './adapter.ts'

const contractNames: Readonly<Record<string, string>> = {
  aspectRatio: 'aspect_ratio',
  outputFormat: 'output_format',
  negativePrompt: 'negative_prompt',
  firstFrame: 'image',
  lastFrame: 'last_frame',
  references: 'reference_images',
}

export function lossesIn<R extends MediaRequest>(request: R, ...fields: (keyof R & string)[]): string[] {
  return fields.filter((field) => isSaid(request[field])).map((field) => contractNames[field] ?? field)
}

const isSaid = (value: unknown): boolean =>
  value !== null &&
  value !== undefined &&
  value !== false &&
  value !== 'none' &&
  !(Array.isArray(value) && value.length === 0)

/** On conflict our fields win, because they were priced. Undefined and null are ignored. */
export function withOptions(options: Readonly<Json>, ours: Json): Json {
  const all: Json = { ...options }
  for (const [name, value] of Object.entries(ours)) {
    if (value === undefined || value === null) continue
    const option = all[name]
    all[name] = isObject(value) && isObject(option) ? { ...option, ...value } : value
  }
  return all
}

/** Vendors' names for fields that may affect a price: lower case, without separators. */
const CHOICES = {
  size: ['size', 'imagesize', 'width', 'height', 'megapixels', 'dimensions'],
  quality: ['quality', 'tier', 'mode', 'renderingspeed'],
  resolution: ['resolution', 'imagesize', 'videosize', 'size', 'width', 'height', 'quality'],
  audio: ['audio', 'generateaudio', 'withaudio', 'enableaudio', 'sound'],
} as const
export type Choice = keyof typeof CHOICES

export function choicesIn({ providerOptions }: MediaRequest): ReadonlySet<Choice> {
  const names = namesIn(providerOptions)
  const choices = Object.entries(CHOICES) as [Choice, readonly string[]][]
  return new Set(choices.filter(([, variants]) => variants.some((name) => names.has(name))).map(([choice]) => choice))
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

/** Finds an option that sets the amount: only the contract's own `field` is priced and reserved. */
export function countIn(options: Readonly<Json>, kind: MediaRequest['kind']): { name: string; field: string } | null {
  const names = namesIn(options)
  for (const field of COUNTED[kind])
    for (const variant of COUNTS[field]) {
      const name = names.get(variant)
      if (name !== undefined) return { name, field }
    }
  return null
}

function namesIn(value: unknown, names = new Map<string, string>()): ReadonlyMap<string, string> {
  if (Array.isArray(value)) for (const one of value) namesIn(one, names)
  if (!isObject(value)) return names
  for (const [name, one] of Object.entries(value)) {
    // NFKC maps letters that parsers fold to ASCII, such as U+017F, to ASCII.
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

export function formOptions(options: Readonly<Json>, ours: Iterable<string>): [string, string | string[]][] {
  const names = new Set(ours)
  return Object.entries(options)
    .filter(([name, value]) => value !== null && value !== undefined && !names.has(name))
    .map(([name, value]) => [name, Array.isArray(value) ? value.map(wordOf) : wordOf(value)])
}

const wordOf = (value: unknown): string => (typeof value === 'object' ? JSON.stringify(value) : String(value))

export const sizeWords = (size: PixelSize | null): string | undefined =>
  size === null ? undefined : `${size.width}x${size.height}`

export function ratioOf({ width, height }: PixelSize): string {
  let [a, b] = [width, height]
  while (b !== 0) [a, b] = [b, a % b]
  return `${width / a}:${height / a}`
}

/** Returns the language of a BCP 47 tag (ISO 639): `en` from `en-GB`. */
export const baseLanguage = (tag: string | null): string | undefined => tag?.split('-')[0]?.toLowerCase()

/** Vendors bill speech by Unicode code points. */
export const charactersOf = (text: string): number => [...text].length
