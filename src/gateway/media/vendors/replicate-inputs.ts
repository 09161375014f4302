import { isObject, type Json, objectOf } from '../../model/json.ts'
import { SHORT_BYTES, SHORT_MS, jsonOf } from '../answers.ts'
import { type ImageRequest, MediaFault, type MediaInput, type MediaWire, type VideoRequest } from '../adapter.ts'
import type { Inline } from '../request-body.ts'
import { lossesIn, ratioOf, sizeWords } from '../request-fields.ts'
import { modelPath, nameSegment } from './named-path.ts'

export type Inputs = Readonly<Json> | null

/** `replicate` 1.4.0, index.d.ts, `ModelVersion.openapi_schema`. */
export async function inputsOf(wire: MediaWire, model: string): Promise<Inputs> {
  const [name = '', version] = model.split(':')
  const place = `/models/${modelPath(name)}`
  const path = version === undefined ? place : `${place}/versions/${nameSegment('model', version)}`
  try {
    const reply = await jsonOf(await wire.ask({ method: 'GET', path, mostBytes: SHORT_BYTES, withinMs: SHORT_MS }))
    const { openapi_schema: schema } = version === undefined ? objectOf(reply['latest_version']) : reply
    const { properties } = objectOf(objectOf(objectOf(objectOf(schema)['components'])['schemas'])['Input'])
    return isObject(properties) ? properties : null
  } catch (fault) {
    // Nothing has started yet: the submit reports whether calls are allowed.
    if (fault instanceof MediaFault) return null
    throw fault
  }
}

interface WrittenInputs {
  input: Json
  losses: string[]
}

/** Writes fields under the first of their names that the model has. */
class InputWriter {
  readonly input: Json = {}
  readonly losses: string[] = []
  readonly #inputs: Inputs

  constructor(inputs: Inputs) {
    this.#inputs = inputs
  }

  put(lossName: string, names: readonly string[], value: unknown): void {
    if (value === null || value === undefined) return
    const name = this.named(names)
    if (name === null) this.losses.push(lossName)
    else this.input[name] = value
  }

  files(lossName: string, names: readonly string[], files: readonly MediaInput[], inline: Inline): void {
    if (files.length === 0) return
    const name = this.named(names)
    if (name === null) return void this.losses.push(lossName)
    const urls = files.map((file) => inline(file, 'data address'))
    const isList = objectOf(this.#inputs?.[name])['type'] === 'array'
    this.input[name] = isList ? urls : urls[0]
    if (!isList && urls.length > 1) this.losses.push(lossName)
  }

  named(names: readonly string[]): string | null {
    const inputs = this.#inputs
    return inputs === null ? names[0]! : (names.find((name) => name in inputs) ?? null)
  }

  size({ size, aspectRatio }: Pick<ImageRequest, 'size' | 'aspectRatio'>): void {
    this.put('aspect_ratio', ['aspect_ratio'], aspectRatio)
    if (size === null) return
    if (this.#inputs !== null && this.named(['width']) !== null && this.named(['height']) !== null)
      return void Object.assign(this.input, { width: size.width, height: size.height })
    if (this.named(['size']) !== null) return this.put('size', ['size'], sizeWords(size))
    this.losses.push('size')
    if (aspectRatio === null && this.named(['aspect_ratio']) !== null) this.input['aspect_ratio'] = ratioOf(size)
  }
}

/** Flux 2 takes up to eight images, each under its own name: `@ai-sdk/replicate` 3.0.46, replicate-image-model.ts. */
const numberedNames = Array.from({ length: 8 }, (_, at) => `input_image${at === 0 ? '' : `_${at + 1}`}`)

export function imageInput(request: ImageRequest, inputs: Inputs, inline: Inline): WrittenInputs {
  const { model, prompt, n, seed, negativePrompt, outputFormat, quality, images, mask } = request
  const writer = new InputWriter(inputs)
  const isFlux2 = model.startsWith('black-forest-labs/flux-2-')
  writer.put('prompt', ['prompt'], prompt)
  if (n > 1 || inputs === null) writer.put('n', ['num_outputs', 'number_of_images', 'num_images'], n)
  writer.size(request)
  writer.put('seed', ['seed'], seed)
  writer.put('negative_prompt', ['negative_prompt'], negativePrompt)
  writer.put('output_format', ['output_format'], outputFormat === 'jpeg' ? 'jpg' : outputFormat)
  if (inputs === null) writer.losses.push(...lossesIn(request, 'quality'))
  else writer.put('quality', ['quality'], quality)
  if (inputs === null ? isFlux2 : 'input_image_2' in inputs) {
    for (const [at, image] of images.entries())
      if (at < numberedNames.length) writer.put('images', [numberedNames[at]!], inline(image, 'data address'))
    if (images.length > numberedNames.length) writer.losses.push('images')
  } else writer.files('images', ['image', 'image_input', 'input_image', 'input_images', 'images'], images, inline)
  if (mask !== null && inputs === null && isFlux2) writer.losses.push('mask')
  else writer.files('mask', ['mask'], mask === null ? [] : [mask], inline)
  return { input: writer.input, losses: [...new Set([...writer.losses, ...lossesIn(request, 'transparent')])] }
}

export function videoInput(request: VideoRequest, inputs: Inputs, inline: Inline): WrittenInputs {
  const { prompt, seconds, resolution, fps, audio, seed, negativePrompt, firstFrame, lastFrame, references } = request
  const writer = new InputWriter(inputs)
  writer.put('prompt', ['prompt'], prompt)
  writer.files(
    'image',
    ['image', 'first_frame_image', 'start_image', 'first_frame', 'input_image'],
    listOf(firstFrame),
    inline,
  )
  writer.size(request)
  writer.put('resolution', ['resolution'], resolution)
  writer.put('seconds', ['duration', 'seconds'], seconds)
  writer.put('fps', ['fps', 'frames_per_second'], fps)
  writer.put('seed', ['seed'], seed)
  writer.put('negative_prompt', ['negative_prompt'], negativePrompt)
  // None of these names is common enough to guess.
  if (inputs === null) writer.losses.push(...lossesIn(request, 'audio', 'lastFrame', 'references'))
  else {
    writer.put('audio', ['generate_audio', 'audio'], audio)
    writer.files('last_frame', ['last_frame', 'last_frame_image', 'end_image', 'last_image'], listOf(lastFrame), inline)
    writer.files('reference_images', ['reference_images', 'subject_reference', 'input_images'], references, inline)
  }
  return { input: writer.input, losses: [...new Set(writer.losses)] }
}

const listOf = (file: MediaInput | null): MediaInput[] => (file === null ? [] : [file])
