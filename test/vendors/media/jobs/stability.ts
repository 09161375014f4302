// Stability AI on loopback: forms even without a file, the image itself or JSON at once, creative upscaling as a job.
//
// Sources: Stability's REST reference v2beta, from published schemas (forms, `accept`, finish_reason, seed, 202 while
// in progress; errors {id, name, errors}); media.md 2.
//
// Unknown, so only guessed: the words of its errors; whether unknown fields are rejected (they are here); the sizes of
// aspect ratios. In a behavior, `type` is an error's name: moderated prompts are {status: 403, type:
// 'content_moderation'}; `media.moderated` filters the result.
import type { Answer, Whole } from '../../delivery/deliver.ts'
import { id } from '../../delivery/plan.ts'
import { check, type Fault, type Rule } from '../../rules.ts'
import { serve, type Call } from '../../server.ts'
import type { Json, Options, Refusal } from '../../vendor.ts'
import { wholeOf, spoil, type MediaFile } from '../made/file.ts'
import { measure, picture, type PictureFormat } from '../made/picture.ts'
import { bodyOf, isUpload, partsOf } from '../multipart.ts'
import { Jobs, mediaVendor, type MediaVendor } from './jobs.ts'

const text: Rule = { kind: 'string', required: true, pattern: /^[^]{1,10000}$/u }
const words: Rule = { kind: 'string' }
const upload: Rule = { kind: 'object' }
const source: Rule = { ...upload, required: true }
const part: Rule = { kind: 'number', min: 0, max: 1 }
const margin: Rule = { kind: 'integer', min: 0, max: 2_000 }
const ratios = ['16:9', '1:1', '21:9', '2:3', '3:2', '4:5', '5:4', '9:16', '9:21']
const common: Record<string, Rule> = {
  negative_prompt: words,
  seed: { kind: 'integer', min: 0, max: 4_294_967_294 },
  style_preset: words,
  output_format: { kind: 'string', values: ['png', 'jpeg', 'webp'] },
}
const imageFields: Record<string, Rule> = { ...common, prompt: text, aspect_ratio: { kind: 'string', values: ratios } }
const grow: Rule = { kind: 'number', min: 0, max: 100 }
const closedObject = (fields: Record<string, Rule>): Rule => ({ kind: 'object', fields, closed: true })

const routes: Record<string, Rule> = {
  'generate/core': closedObject(imageFields),
  'generate/ultra': closedObject({ ...imageFields, image: upload, strength: part }),
  'generate/sd3': closedObject({
    ...imageFields,
    mode: { kind: 'string', values: ['text-to-image', 'image-to-image'] },
    model: { kind: 'string', values: ['sd3.5-large', 'sd3.5-large-turbo', 'sd3.5-medium', 'sd3.5-flash'] },
    image: upload,
    strength: part,
    cfg_scale: { kind: 'number', min: 1, max: 10 },
  }),
  'edit/inpaint': closedObject({ ...common, image: source, mask: upload, prompt: text, grow_mask: grow }),
  'edit/erase': closedObject({
    image: source,
    mask: upload,
    grow_mask: grow,
    seed: common['seed']!,
    output_format: common['output_format']!,
  }),
  'edit/outpaint': closedObject({
    ...common,
    image: source,
    prompt: words,
    left: margin,
    right: margin,
    up: margin,
    down: margin,
    creativity: part,
  }),
  'edit/search-and-replace': closedObject({
    ...common,
    image: source,
    prompt: text,
    search_prompt: text,
    grow_mask: grow,
  }),
  'edit/remove-background': closedObject({ image: source, output_format: { kind: 'string', values: ['png', 'webp'] } }),
  'upscale/creative': closedObject({
    ...common,
    image: source,
    prompt: text,
    creativity: { kind: 'number', min: 0.1, max: 0.5 },
  }),
}

/** Its base URL is `<origin>/v2beta`. */
export async function stabilityMedia(options: Options<never> = {}): Promise<MediaVendor> {
  const { otherwise, key = 'sk-loopback-stability', keys = [] } = options
  const shop = new Stability([key, ...keys])
  const vendor = await serve({
    key,
    otherwise,
    answer: async (call) => await shop.answer(call),
    failure: ({ status, type, message }) => problem(status, type ?? names[status] ?? 'internal_error', message),
    refusals,
    headers: () => ({ 'x-request-id': id('', 32).toLowerCase() }),
  })
  return mediaVendor(vendor, { jobs: shop.jobs.list, expire: () => (shop.late = true) })
}

const names: Record<number, string> = {
  400: 'bad_request',
  401: 'unauthorized',
  402: 'payment_required',
  403: 'content_moderation',
  404: 'not_found',
  413: 'payload_too_large',
  422: 'unprocessable_entity',
  429: 'rate_limit_exceeded',
}

function problem(status: number, name: string, message = 'An unexpected error occurred.'): Whole {
  return { status, body: { id: id('', 32).toLowerCase(), name, errors: [message] } }
}

const refusals: Record<Refusal, () => Whole> = {
  key: () => problem(401, 'unauthorized', 'authorization: invalid or missing header value'),
  permission: () => problem(403, 'forbidden', 'You lack the permission for this.'),
  quota: () => problem(402, 'payment_required', 'You lack sufficient credits to make this request.'),
  throttle: () => ({
    ...problem(
      429,
      'rate_limit_exceeded',
      'You have exceeded the rate limit (150 requests within a 10 second period).',
    ),
    headers: { 'retry-after': '60' },
  }),
}

class Stability {
  readonly keys: string[]
  readonly jobs = new Jobs()
  late = false

  constructor(keys: string[]) {
    this.keys = keys
  }

  async answer(call: Call): Promise<Answer> {
    const { method, path, request } = call
    const apiKey = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1]
    if (apiKey === undefined || !this.keys.includes(apiKey)) return refusals.key()
    call.key = apiKey
    const accept = request.headers.accept ?? 'image/*'
    if (!['image/*', 'application/json', '*/*'].includes(accept)) {
      return problem(400, 'bad_request', "accept: must be one of the following values: 'image/*', 'application/json'")
    }
    const results = /^\/v2beta\/(?:results|stable-image\/upscale\/creative\/result)\/([^/]+)$/
    const [, name] = results.exec(path) ?? []
    if (method === 'GET' && name !== undefined) return await this.#result(call, name, accept)
    const route = path.replace(/^\/v2beta\/stable-image\//, '')
    const rule = routes[route]
    if (method !== 'POST' || !rule) return problem(404, 'not_found', 'The requested resource was not found.')
    const parts = partsOf(request)
    if (typeof parts === 'string') return problem(400, 'bad_request', 'content-type: must be multipart/form-data')
    const body = bodyOf(parts, rule)
    const fault = check(rule, body) ?? (await unfit(body, rule))
    if (fault) return problem(400, 'bad_request', `${fault.path.join('.')}: ${faults[fault.kind]}`)
    const size = await sizeOf(body, route)
    if (route !== 'upscale/creative') return await finishedAnswer(call.behaviour.media ?? {}, body, size, accept)
    const job = this.jobs.begin(call, id('', 64).toLowerCase(), { ...body, image: undefined, size })
    return { status: 200, body: { id: job.id } }
  }

  async #result(call: Call, name: string, accept: string): Promise<Answer> {
    const job = this.jobs.find(name, call.key ?? '')
    if (!job || this.late) return problem(404, 'not_found', 'id: the generation does not exist or has expired')
    const state = this.jobs.poll(job, call)
    if (job.endedAt === undefined) return { status: 202, body: { id: name, status: 'in-progress' } }
    if (state === 'failed') return problem(500, 'internal_error', 'The generation failed.')
    call.behaviour = { ...job.making.link?.asked, ...call.behaviour }
    return await finishedAnswer(job.making, job.ask, job.ask['size'], accept)
  }
}

const faults: Record<Fault['kind'], string> = {
  missing: 'is required',
  type: 'has the wrong type',
  value: 'is not one of the values',
  range: 'is out of range',
  length: 'has the wrong length',
  pattern: 'cannot be empty or longer than 10000 characters',
  unknown: 'is not a parameter of this route',
}

/** Images must be images, and texts no files. */
async function unfit(body: Json, rule: Rule): Promise<Fault | undefined> {
  for (const [name, value] of Object.entries(body)) {
    const expectsFile = rule.fields?.[name]?.kind === 'object'
    const measured = expectsFile && isUpload(value) ? await measure(value.bytes) : undefined
    if (expectsFile && !measured) return { kind: 'type', path: [name], rule, value: undefined }
  }
  return undefined
}

async function sizeOf(body: Json, route: string): Promise<string> {
  const source = isUpload(body['image']) ? await measure(body['image'].bytes) : undefined
  if (source && route === 'upscale/creative') return `${source.width * 4}x${source.height * 4}`
  if (source) {
    const width = source.width + (body['left'] ?? 0) + (body['right'] ?? 0)
    return `${width}x${source.height + (body['up'] ?? 0) + (body['down'] ?? 0)}`
  }
  const [across = 1, down = 1] = String(body['aspect_ratio'] ?? '1:1')
    .split(':')
    .map(Number)
  const side = Math.sqrt(1_048_576 / (across * down))
  return `${Math.round((side * across) / 64) * 64}x${Math.round((side * down) / 64) * 64}`
}

/** A moderated image still arrives, but blurred, with a note beside it. */
async function finishedAnswer(making: Json, ask: Json, size: string, accept: string): Promise<Whole> {
  const format = (ask['output_format'] ?? 'png') as PictureFormat
  const file: MediaFile = spoil(
    await picture(making['size'] ?? size, { format, words: ask['prompt'] }),
    making['spoiled'],
  )
  const reason = making['moderated'] ? 'CONTENT_FILTERED' : 'SUCCESS'
  const seed = ask['seed'] || 1
  if (accept === 'application/json') {
    return { status: 200, body: { image: file.bytes.toString('base64'), finish_reason: reason, seed } }
  }
  const answer = wholeOf(file)
  return { ...answer, headers: { ...answer.headers, 'finish-reason': reason, seed: String(seed) } }
}
