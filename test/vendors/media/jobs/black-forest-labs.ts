// Black Forest Labs on loopback: submit, polling only at its own link, a temporary link to the image.
//
// Sources: @ai-sdk/black-forest-labs 2.0.41 (fields, `cost`, statuses, `result`); media.md 2 and 6 ("Request
// Moderated", the link's ten minutes).
//
// Unknown, so only guessed: the words of its errors; whether unknown fields are rejected (they are here); the sizes of
// aspect ratios; 404 for a poll of an unknown request.
import { randomUUID } from 'node:crypto'
import type { Answer, Whole } from '../../delivery/deliver.ts'
import { parse } from '../../delivery/plan.ts'
import { check, type Fault, type Rule } from '../../rules.ts'
import { serve, type Call } from '../../server.ts'
import type { Json, Options, Refusal } from '../../vendor.ts'
import { picture, type PictureFormat } from '../made/picture.ts'
import { Jobs, mediaVendor, type Job, type MediaVendor } from './jobs.ts'
import { startLinks, type Links } from './links.ts'

const text: Rule = { kind: 'string', required: true }
const words: Rule = { kind: 'string', nullable: true }
const flag: Rule = { kind: 'boolean' }
const whole: Rule = { kind: 'integer', nullable: true }
const closedObject = (fields: Record<string, Rule>): Rule => ({ kind: 'object', fields, closed: true })
const common: Record<string, Rule> = {
  prompt: text,
  seed: whole,
  safety_tolerance: { kind: 'integer', min: 0, max: 6 },
  output_format: { kind: 'string', values: ['jpeg', 'png'] },
  webhook_url: words,
  webhook_secret: words,
}
const pixels: Rule = { kind: 'integer', min: 256, max: 1440 }
const inputImages = (count: number): Record<string, Rule> =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [n === 0 ? 'input_image' : `input_image_${n + 1}`, words]))

const models: Record<string, Rule> = {
  'flux-pro-1.1': closedObject({
    ...common,
    width: pixels,
    height: pixels,
    image_prompt: words,
    prompt_upsampling: flag,
  }),
  'flux-pro-1.1-ultra': closedObject({
    ...common,
    aspect_ratio: words,
    raw: flag,
    image_prompt: words,
    image_prompt_strength: { kind: 'number', min: 0, max: 1 },
    prompt_upsampling: flag,
  }),
  'flux-kontext-pro': closedObject({ ...common, ...inputImages(4), aspect_ratio: words, prompt_upsampling: flag }),
  'flux-pro-1.0-fill': closedObject({
    ...common,
    image: text,
    mask: words,
    steps: { kind: 'integer', min: 15, max: 50 },
    guidance: { kind: 'number', min: 1.5, max: 100 },
    prompt_upsampling: flag,
  }),
  'flux-2-pro': closedObject({ ...common, ...inputImages(8), width: whole, height: whole }),
}

/** Its base URL is `<origin>/v1`; polls use other hosts. */
export async function blackForestLabsMedia(options: Options<never> = {}): Promise<MediaVendor> {
  const { otherwise, key = 'bfl-loopback', keys = [] } = options
  const links = await startLinks()
  const shop = new BlackForestLabs([key, ...keys], links)
  const vendor = await serve({
    key,
    otherwise,
    answer: async (call) => await shop.answer(call),
    failure: ({ status, message }) => ({ status, body: { detail: message ?? 'Internal server error' } }),
    refusals,
    headers: () => ({}),
  })
  return mediaVendor(vendor, { jobs: shop.jobs.list, files: links.vendor, expire: links.expire })
}

const refusals: Record<Refusal, () => Whole> = {
  key: () => ({ status: 403, body: { detail: 'Not authenticated - Invalid Authentication' } }),
  permission: () => ({ status: 403, body: { detail: 'Forbidden' } }),
  quota: () => ({ status: 402, body: { detail: 'Insufficient credits. Please add credits to your account.' } }),
  throttle: () => ({
    status: 429,
    body: { detail: 'Rate limit exceeded: too many active tasks.' },
    headers: { 'retry-after': '1' },
  }),
}

class BlackForestLabs {
  readonly keys: string[]
  readonly links: Links
  readonly jobs = new Jobs()
  readonly #results = new Map<string, Json>()

  constructor(keys: string[], links: Links) {
    this.keys = keys
    this.links = links
  }

  async answer(call: Call): Promise<Answer> {
    const { method, path, request } = call
    const apiKey = request.headers['x-key']
    if (typeof apiKey !== 'string' || !this.keys.includes(apiKey)) return refusals.key()
    call.key = apiKey
    if (method === 'GET' && path === '/region-7/v1/get_result') return await this.#poll(call)
    if (method === 'GET' && path === '/v1/get_result') {
      return { status: 404, body: { id: request.query.get('id'), status: 'Task not found', result: null } }
    }
    const [, name = ''] = /^\/v1\/([\w.-]+)$/.exec(path) ?? []
    const rule = models[name]
    if (method !== 'POST' || !rule) return { status: 404, body: { detail: 'Not Found' } }
    const body = parse(request.body)
    if (!body) return invalid({ kind: 'type', path: [], rule, value: undefined })
    const fault = check(rule, body)
    if (fault) return invalid(fault)
    const job = this.jobs.begin(call, randomUUID(), { model: name, ...body })
    const size = (job.making.size ?? sizeOf(job.ask)).split('x').map(Number)
    const megapixels = Math.round(((size[0] ?? 0) * (size[1] ?? 0)) / 10_000) / 100
    const polling_url = `http://${request.headers.host}/region-7/v1/get_result?id=${job.id}`
    return { status: 200, body: { id: job.id, polling_url, cost: 4, input_mp: 0, output_mp: megapixels } }
  }

  async #poll(call: Call): Promise<Answer> {
    const name = call.request.query.get('id') ?? ''
    const job = this.jobs.find(name, call.key ?? '')
    if (!job) return { status: 404, body: { id: name, status: 'Task not found', result: null } }
    const status = statuses[this.jobs.poll(job, call)]
    const result = status === 'Ready' ? await this.#result(job) : null
    const details = status === 'Request Moderated' ? { 'Moderation Reasons': ['Derivative Works Filter'] } : null
    return { status: 200, body: { id: name, status, result, progress: null, details, preview: null } }
  }

  async #result(job: Job): Promise<Json> {
    const existing = this.#results.get(job.id)
    if (existing) return existing
    const { ask, making, at, key } = job
    const format = (ask['output_format'] ?? 'jpeg') as PictureFormat
    const file = await picture(making.size ?? sizeOf(ask), { format, words: ask['prompt'] })
    const times = { start_time: at / 1_000, end_time: Date.now() / 1_000, duration: (Date.now() - at) / 1_000 }
    const result = {
      sample: this.links.lay(file, making, key),
      prompt: ask['prompt'],
      seed: ask['seed'] ?? 1,
      ...times,
    }
    this.#results.set(job.id, result)
    return result
  }
}

/** Moderation of the generated image ends the same way ("Content Moderated"). */
const statuses = {
  queued: 'Pending',
  running: 'Pending',
  done: 'Ready',
  failed: 'Error',
  moderated: 'Request Moderated',
  cancelled: 'Failed',
} as const

function invalid({ kind, path }: Fault): Whole {
  const types: Record<string, string> = { missing: 'missing', unknown: 'extra_forbidden' }
  return { status: 422, body: { detail: [{ loc: ['body', ...path], msg: kind, type: types[kind] ?? 'value_error' }] } }
}

function sizeOf(ask: Json): string {
  if (ask['width'] || ask['height']) return `${ask['width'] ?? 1024}x${ask['height'] ?? 768}`
  const [across = 1, down = 1] = String(ask['aspect_ratio'] ?? '1:1')
    .split(':')
    .map(Number)
  const side = Math.sqrt(1_048_576 / (across * down))
  return `${Math.round((side * across) / 32) * 32}x${Math.round((side * down) / 32) * 32}`
}
