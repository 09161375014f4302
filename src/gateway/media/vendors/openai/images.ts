import { compact, isWord, type Json, listOf, objectOf } from '../../../model/json.ts'
import type { ImageQuirks } from '../../../providers/media-quirks.ts'
import { MAKING_MS, badAnswer, dataOf, fileOf, inOne, jsonOf, pictureAnswerBytes, pictureBytes } from '../../answers.ts'
import {
  type DeliveredMedia,
  type ImageRequest,
  type Immediate,
  type MadeFile,
  MediaFault,
  type MediaWire,
} from '../../adapter.ts'
import { type FormValue, type RequestBody, formBody, jsonBody } from '../../request-body.ts'
import { formOptions, lossesIn, sizeWords, withOptions } from '../../request-fields.ts'
import { tokensIn } from './usage.ts'

/** Models that always return base64, and reject the parameter: `@ai-sdk/openai` 4.0.118, openai-image-model.ts. */
const base64Always = /^(?:chatgpt-image|gpt-image)/
/** Older models with fewer fields: OpenAI's API description 2.3.0. */
const older = /^dall-e-/

const OWN_FIELDS: ImageQuirks['takes'] = ['quality', 'output_format', 'background']

export function openaiImages(quirks: ImageQuirks): Immediate<ImageRequest> {
  return {
    how: 'immediate',
    async run(wire, request) {
      const { edits = 'form', masks = edits === 'form' } = quirks
      if (request.mask !== null && !masks)
        throw refusedField('This provider doesn’t support masks. Describe the part to change in the prompt.')
      if (request.images.length > 0 && edits === 'none') throw refusedField('This provider can’t edit images.')
      const { fields, losses } = fieldsOf(request, quirks)
      const isEdit = request.images.length > 0
      const path = isEdit && edits !== 'image_url' ? '/images/edits' : '/images/generations'
      const body = isEdit && edits === 'form' ? form(request, fields) : json(request, fields, edits)
      if (isEdit && edits === 'image_url' && request.images.length > 1) losses.push('images')
      const answer = await wire.ask({
        method: 'POST',
        path,
        ...body,
        mostBytes: pictureAnswerBytes(request.n),
        withinMs: MAKING_MS,
      })
      return resultOf(wire, await jsonOf(answer), losses)
    },
  }
}

const refusedField = (message: string): MediaFault => new MediaFault('bad_request', message, { sent: false })

function fieldsOf(request: ImageRequest, quirks: ImageQuirks): { fields: Json; losses: string[] } {
  const { model, prompt, n, size, quality, transparent, outputFormat, aspectRatio, seed, negativePrompt } = request
  const { size: sizeField = 'size', base64 = 'b64_json' } = quirks
  const takes = new Set(older.test(model) ? ['quality'] : (quirks.takes ?? OWN_FIELDS))
  const ownFields = {
    aspect_ratio: aspectRatio,
    seed,
    negative_prompt: negativePrompt,
    quality,
    output_format: outputFormat,
    background: transparent === null ? null : transparent ? 'transparent' : 'opaque',
  }
  const fields: Json = { model, prompt, n }
  for (const name of takes) fields[name] = ownFields[name as keyof typeof ownFields] ?? undefined
  if (sizeField === 'size') fields['size'] = sizeWords(size)
  if (sizeField === 'width and height' && size !== null)
    Object.assign(fields, { width: size.width, height: size.height })
  if (!base64Always.test(model)) fields['response_format'] = base64
  const losses = [
    ...lossesIn(request, ...(sizeField === 'none' ? (['size'] as const) : [])),
    ...(takes.has('background') ? [] : lossesIn(request, 'transparent')),
    ...lossesIn(request, 'aspectRatio', 'seed', 'negativePrompt', 'quality', 'outputFormat').filter(
      (name) => !takes.has(name),
    ),
  ]
  return { fields: compact(fields), losses }
}

function form({ images, mask, providerOptions }: ImageRequest, fields: Json): RequestBody {
  const ours = Object.entries(fields) as [string, FormValue][]
  // One image is `image`, several are `image[]`: `@ai-sdk/openai` 4.0.118, openai-image-model.ts.
  const name = images.length === 1 ? 'image' : 'image[]'
  return formBody([
    ...ours,
    ...formOptions(providerOptions, [...Object.keys(fields), 'image', 'mask', 'stream', 'response_format']),
    ...images.map((image) => [name, image] as const),
    ['mask', mask],
  ])
}

const json = ({ images, providerOptions }: ImageRequest, fields: Json, edits: ImageQuirks['edits']): RequestBody =>
  jsonBody((inline) => {
    const { stream: _, ...options } = providerOptions
    const urls = images.map((image) => inline(image, 'data address'))
    // `@ai-sdk/xai` 5.0.12, xai-image-model.ts, and `@ai-sdk/togetherai` 3.0.54, togetherai-image-model.ts.
    const imageUrls = urls.map((url) => ({ url, type: 'image_url' }))
    const imageFields =
      edits === 'image_url' ? { image_url: urls[0] } : urls.length > 1 ? { images: imageUrls } : { image: imageUrls[0] }
    return withOptions(options, { ...fields, ...(urls.length > 0 && imageFields) })
  })

function resultOf(wire: MediaWire, answer: Json, losses: readonly string[]): DeliveredMedia {
  const rows = listOf(answer['data']).map(objectOf)
  if (rows.length === 0) throw badAnswer('The provider returned no image.')
  if (rows.some(({ respect_moderation: isAllowed }) => isAllowed === false))
    throw new MediaFault('refused_content', 'The provider’s moderation blocked an image.')
  return {
    kind: 'files',
    files: rows.map((row) => pictureOf(wire, row)),
    units: { images: rows.length, ...tokensIn(answer['usage']), ...ticksIn(answer['usage']) },
    losses,
  }
}

function pictureOf(wire: MediaWire, { b64_json: base64, url, revised_prompt: newPrompt }: Json): MadeFile {
  const revisedPrompt = isWord(newPrompt) ? newPrompt : null
  if (isWord(base64)) return fileOf(base64.replace(/^data:[^,]*,/, ''), revisedPrompt)
  if (!isWord(url)) throw badAnswer('The provider returned an image without bytes or a URL.')
  const data = dataOf(url)
  return { bytes: data === null ? wire.download(url, pictureBytes) : inOne(data), revisedPrompt }
}

/** xAI reports the cost: 10,000,000,000 ticks are one USD (docs.x.ai, usage of images). */
const TICKS_PER_USD = 1e10

function ticksIn(usage: unknown): { reportedUsd?: number } {
  const { cost_in_usd_ticks: ticks } = objectOf(usage)
  return typeof ticks === 'number' && ticks >= 0 ? { reportedUsd: ticks / TICKS_PER_USD } : {}
}
