// POST /v1/images/generations and /v1/images/edits.
import type { Answer, Frame, Whole } from '../../delivery/deliver.ts'
import { parse, weigh } from '../../delivery/plan.ts'
import { problem } from '../../openai/errors.ts'
import { faultError, type OpenAIError } from '../../openai/rules.ts'
import { check } from '../../rules.ts'
import type { Call } from '../../server.ts'
import type { Json } from '../../vendor.ts'
import type { Links } from '../jobs/links.ts'
import { spoil, type MediaFile } from '../made/file.ts'
import { formatOf, measure, picture, sizeOf, type PictureFormat } from '../made/picture.ts'
import { bodyOf, isUpload, partsOf, type Upload } from '../multipart.ts'
import type { ImageModel } from './models.ts'
import { edit, generation } from './rules.ts'

type Shop = { models: ImageModel[]; links: Links }
type PictureRequest = { model: ImageModel; body: Json; size: string; format: PictureFormat; inputs: Upload[] }

export async function generate(call: Call, shop: Shop): Promise<Answer> {
  if (!isJson(call)) return unsupportedType(call)
  const body = parse(call.request.body)
  if (!body) return problem({ status: 400, message: 'We could not parse the JSON body of your request.' })
  const fault = check(generation, body)
  return fault ? problem(faultError(fault)) : await answer(call, shop, body, [])
}

/** Image references in JSON aren't played. */
export async function change(call: Call, shop: Shop): Promise<Answer> {
  const parts = partsOf(call.request)
  if (typeof parts === 'string') return unsupportedType(call)
  const body = bodyOf(parts, edit)
  const fault = check(edit, body)
  if (fault) return problem(faultError(fault))
  const inputs = [body['image']].flat() as unknown[]
  const texts = inputs.findIndex((one) => !isUpload(one))
  if (texts >= 0) return problem(notAFile(`image[${texts}]`))
  const refusal = await pictures(inputs.filter(isUpload), body['mask'])
  return refusal ? problem(refusal) : await answer(call, shop, body, inputs.filter(isUpload))
}

async function pictures(inputs: Upload[], mask: unknown): Promise<OpenAIError | undefined> {
  for (const { type, bytes } of inputs) {
    const actualFormat = formatOf(bytes)
    if (actualFormat === undefined || type !== `image/${actualFormat}`) {
      const message = `Invalid file 'image': unsupported mimetype ('${type}'). Supported file formats are 'image/jpeg', 'image/png', and 'image/webp'.`
      return { status: 400, message, param: 'image', code: 'unsupported_file_mimetype' }
    }
    if (!(await measure(bytes)))
      return { status: 400, message: 'Invalid image file or mode.', code: 'invalid_image_file' }
  }
  if (mask === undefined) return undefined
  if (!isUpload(mask)) return notAFile('mask')
  const first = inputs[0] ? await measure(inputs[0].bytes) : undefined
  const measuredMask = formatOf(mask.bytes) === 'png' ? await measure(mask.bytes) : undefined
  const wrong = (message: string): OpenAIError => ({ status: 400, message, param: 'mask', code: 'invalid_value' })
  if (!measuredMask) return wrong('Invalid mask image format - the mask must be a PNG.')
  if (!measuredMask.alpha) return wrong('Invalid mask image format - mask image missing alpha channel.')
  const same = measuredMask.width === first?.width && measuredMask.height === first.height
  return same ? undefined : wrong('Invalid mask image format - mask size does not match image size.')
}

function notAFile(param: string): OpenAIError {
  return { status: 400, message: `Invalid type for '${param}': expected a file.`, param, code: 'invalid_type' }
}

async function answer(call: Call, shop: Shop, body: Json, inputs: Upload[]): Promise<Answer> {
  const name = body['model'] ?? 'gpt-image-1.5'
  const model = shop.models.find(({ id }) => id === name)
  if (!model) {
    const message = `The model '${name}' does not exist.`
    return problem({ status: 400, message, param: 'model', code: 'invalid_value', type: 'image_generation_user_error' })
  }
  const refusal = limits(body, model)
  if (refusal) return problem(refusal)
  if (call.behaviour.media?.moderated) return problem(moderationError)
  const requestedSize = body['size'] && body['size'] !== 'auto' ? (body['size'] as string) : '1024x1024'
  const format = (body['output_format'] ?? 'png') as PictureFormat
  const imageRequest: PictureRequest = {
    model,
    body,
    size: call.behaviour.media?.size ?? requestedSize,
    format,
    inputs,
  }
  return body['stream'] ? await stream(call, imageRequest) : await whole(call, shop, imageRequest)
}

/** From reports of callers. */
const moderationError: OpenAIError = {
  status: 400,
  message:
    'Your request was rejected by the safety system. If you believe this is an error, contact us at help.openai.com and include the request ID req_loopback. safety_violations=[sexual].',
  type: 'image_generation_user_error',
  code: 'moderation_blocked',
}

function limits(body: Json, model: ImageModel): OpenAIError | undefined {
  const has = (name: string) => body[name] !== undefined && body[name] !== null
  const wrong = (param: string, message: string, code = 'invalid_value'): OpenAIError => ({
    status: 400,
    message,
    param,
    code,
  })
  const unknown = model.legacy
    ? ['background', 'output_format', 'output_compression', 'stream', 'partial_images', 'moderation'].find(has)
    : ['response_format', 'style'].find(has)
  if (unknown) return wrong(unknown, `Unknown parameter: '${unknown}'.`, 'unknown_parameter')
  if (has('size') && !fits(body['size'], model)) {
    const sizes = model.sizes === 'any' ? 'multiples of 16, from 1:3 to 3:1, at most 3840x2160' : model.sizes.join(', ')
    return wrong('size', `Invalid value: '${body['size']}'. Supported values are: ${sizes}, and auto.`)
  }
  if (has('quality') && body['quality'] !== 'auto' && !model.qualities.includes(body['quality'])) {
    const values = model.qualities.map((one) => `'${one}'`).join(', ')
    return wrong('quality', `Invalid value: '${body['quality']}'. Supported values are: ${values}, and 'auto'.`)
  }
  if (has('n') && body['n'] > (model.most ?? 10)) return wrong('n', `Invalid 'n': at most ${model.most} here.`)
  const format = body['output_format'] ?? 'png'
  if (!['png', 'jpeg', 'webp'].includes(format))
    return wrong('output_format', `'${format}' is a preview without access.`)
  if (body['background'] === 'transparent' && format === 'jpeg') {
    return wrong('background', 'Transparent background is not supported for JPEG output format.')
  }
  if (has('output_compression') && body['output_compression'] < 100 && format === 'png') {
    return wrong('output_compression', 'Compression less than 100 is not supported for PNG output format.')
  }
  if (has('input_fidelity') && model.sizes === 'any') {
    return wrong('input_fidelity', "The 'input_fidelity' parameter is not supported for this model.")
  }
  if (has('partial_images') && !body['stream']) {
    return wrong('partial_images', "The 'partial_images' parameter is only allowed when 'stream' is enabled.")
  }
  return undefined
}

function fits(size: string, { sizes }: ImageModel): boolean {
  if (size === 'auto') return true
  if (sizes !== 'any') return sizes.includes(size)
  if (!/^\d+x\d+$/.test(size)) return false
  const { width, height } = sizeOf(size)
  const [long, short] = [Math.max(width, height), Math.min(width, height)]
  return width % 16 === 0 && height % 16 === 0 && short > 0 && long / short <= 3 && long <= 3_840 && short <= 2_160
}

async function whole(call: Call, { links }: Shop, imageRequest: PictureRequest): Promise<Whole> {
  const { model, body, size, format } = imageRequest
  const making = call.behaviour.media
  const files = await Promise.all(Array.from({ length: body['n'] ?? 1 }, (_, n) => draw(imageRequest, n)))
  const createdAt = Math.floor(Date.now() / 1000)
  if (model.legacy) {
    const data = files.map((file) => ({
      revised_prompt: `${body['prompt']}, in detail`,
      ...(body['response_format'] === 'b64_json'
        ? { b64_json: spoil(file, making?.spoiled).bytes.toString('base64') }
        : { url: links.lay(file, making, call.key ?? '') }),
    }))
    return { status: 200, body: { created: createdAt, data } }
  }
  const data = files.map((file) => ({ b64_json: spoil(file, making?.spoiled).bytes.toString('base64') }))
  const imageFields = { background: backgroundOf(body), output_format: format, quality: qualityOf(body), size }
  return {
    status: 200,
    body: { created: createdAt, ...imageFields, data, usage: usageOf(call, imageRequest, files.length, true) },
  }
}

/** For several images the order of events is unknown: here one after the other. */
async function stream(call: Call, imageRequest: PictureRequest): Promise<Answer> {
  const { body, size, format, inputs } = imageRequest
  const family = inputs.length > 0 ? 'image_edit' : 'image_generation'
  const head = () => ({
    created_at: Math.floor(Date.now() / 1000),
    size,
    quality: qualityOf(body),
    background: backgroundOf(body),
    output_format: format,
  })
  const event = (kind: string, file: MediaFile, more: Json): Frame => {
    const type = `${family}.${kind}`
    return { event: type, data: { type, b64_json: file.bytes.toString('base64'), ...head(), ...more } }
  }
  const frames: Frame[] = []
  for (let n = 0; n < (body['n'] ?? 1); n++) {
    const pictures = await Promise.all(
      Array.from({ length: (body['partial_images'] ?? 0) + 1 }, (_, part) => draw(imageRequest, n + part * 10)),
    )
    const last = pictures.pop() ?? (await draw(imageRequest, n))
    frames.push(...pictures.map((file, index) => event('partial_image', file, { partial_image_index: index })))
    frames.push(
      event('completed', spoil(last, call.behaviour.media?.spoiled), { usage: usageOf(call, imageRequest, 1, false) }),
    )
  }
  return { format: 'sse', frames, opening: 0, closing: 1, failure: brokenOff }
}

/** Like `error` events of other streams; the words of this one are unknown. */
function brokenOff({ status = 500, type, code, message = 'The server had an error.' }: Json): Frame[] {
  const kind = type ?? (status >= 500 ? 'image_generation_server_error' : 'image_generation_user_error')
  return [{ event: 'error', data: { type: 'error', error: { type: kind, code: code ?? null, message, param: null } } }]
}

async function draw({ body, size, format }: PictureRequest, n: number): Promise<MediaFile> {
  const transparent = body['background'] === 'transparent'
  return await picture(size, { format, words: `${body['prompt']} ${n}`, transparent })
}

function backgroundOf(body: Json): string {
  return body['background'] === 'transparent' ? 'transparent' : 'opaque'
}

function qualityOf(body: Json): string {
  return !body['quality'] || body['quality'] === 'auto' ? 'high' : body['quality']
}

/** Tokens of a square, by quality; input images count 194 each, which is a guess. */
const tokens: Record<string, number> = { low: 272, medium: 1_056, high: 4_160, xhigh: 6_240, max: 8_320 }

function usageOf({ behaviour }: Call, { body, inputs }: PictureRequest, count: number, isDetailed: boolean): Json {
  const text = weigh(body['prompt'])
  const image = inputs.length * 194
  const input = behaviour.usage?.input ?? text + image
  const output = behaviour.usage?.output ?? (tokens[qualityOf(body)] ?? 0) * count
  return {
    input_tokens: input,
    input_tokens_details: { text_tokens: input - Math.min(input, image), image_tokens: Math.min(input, image) },
    output_tokens: output,
    ...(isDetailed ? { output_tokens_details: { image_tokens: output, text_tokens: 0 } } : {}),
    total_tokens: input + output,
  }
}

export function isJson({ request }: Call): boolean {
  return /^application\/json(;|$)/i.test(request.headers['content-type'] ?? '')
}

export function unsupportedType({ request }: Call): Whole {
  const contentType = request.headers['content-type'] ?? ''
  const message = `Unsupported content type: '${contentType}'. This API method only accepts 'application/json' requests, but you specified the header 'Content-Type: ${contentType}'. Please try again with a supported content type.`
  return problem({
    status: 400,
    message: message.replace("'application/json' requests", expectedType(request.path)),
    code: 'unsupported_content_type',
  })
}

function expectedType(path: string): string {
  return /edits|transcriptions|translations/.test(path)
    ? "'multipart/form-data' requests"
    : "'application/json' requests"
}
