// Replicate on loopback: predictions of models by name or version, polls, cancel, files on another origin for an hour.
//
// Sources: replicate 1.4.0 (index.d.ts, lib/predictions.js: paths, `Prefer: wait`, the fields of a prediction);
// media.md 2.
//
// Unknown, so only guessed: titles and words of its errors except `detail`, `title`, `status`; the answer to a cancel
// that is late (here the unchanged prediction) or rejected (here 500); whether unknown inputs are rejected (they are
// here); that `wait` answers as soon as the script's first poll would.
import type { Answer, Whole } from '../../delivery/deliver.ts'
import { id, parse } from '../../delivery/plan.ts'
import { check, type Rule } from '../../rules.ts'
import { serve, type Call } from '../../server.ts'
import type { Json, Options, Refusal } from '../../vendor.ts'
import { picture, type PictureFormat } from '../made/picture.ts'
import { sound } from '../made/sound.ts'
import { video } from '../made/video.ts'
import { Jobs, mediaVendor, type Job, type MediaVendor } from './jobs.ts'
import { startLinks, type Links } from './links.ts'

/** `list`: its output is a list of links, else one. */
export type ReplicateModel = { id: string; makes: 'image' | 'video' | 'speech'; list?: boolean; version?: string }

export const replicateModels: ReplicateModel[] = [
  { id: 'black-forest-labs/flux-schnell', makes: 'image', list: true },
  { id: 'black-forest-labs/flux-2-pro', makes: 'image' },
  {
    id: 'stability-ai/sdxl',
    makes: 'image',
    list: true,
    version: '7762fd07cf82c948538e41f63f77d685e02b063e37e496e96eefd46c929f9bdc',
  },
  { id: 'minimax/video-01', makes: 'video' },
  { id: 'minimax/speech-02-turbo', makes: 'speech' },
]

/** Its base URL is `<origin>/v1`. */
export async function replicateMedia(options: Options<ReplicateModel> = {}): Promise<MediaVendor> {
  const { models = replicateModels, otherwise, key = 'r8_loopback', keys = [] } = options
  const links = await startLinks()
  const shop = new Replicate(models, [key, ...keys], links)
  const vendor = await serve({
    key,
    otherwise,
    answer: async (call) => await shop.answer(call),
    failure: ({ status, type, message }) => problem(status, type ?? titles[status] ?? 'Error', message ?? 'Try again.'),
    refusals,
    headers: () => ({ 'ratelimit-remaining': '599', 'ratelimit-reset': '1' }),
  })
  return mediaVendor(vendor, { jobs: shop.jobs.list, files: links.vendor, expire: links.expire })
}

const titles: Record<number, string> = {
  401: 'Unauthenticated',
  402: 'Insufficient credit',
  403: 'Permission denied',
  404: 'Not found',
  422: 'Input validation failed',
  429: 'Too many requests',
  500: 'Internal server error',
}

function problem(status: number, title: string, detail: string, more: Json = {}): Whole {
  return { status, body: { title, detail, status, ...more } }
}

const unauthenticatedError = () => problem(401, 'Unauthenticated', 'You did not pass a valid authentication token')

const refusals: Record<Refusal, () => Whole> = {
  key: unauthenticatedError,
  permission: () => problem(403, 'Permission denied', 'You do not have permission to run this model.'),
  quota: () => problem(402, 'Insufficient credit', 'You have insufficient credit to run this model.'),
  throttle: () => ({
    ...problem(429, 'Too many requests', 'Request was throttled. Expected available in 1 second.'),
    headers: { 'retry-after': '1' },
  }),
}

const text: Rule = { kind: 'string', required: true }
const words: Rule = { kind: 'string' }
const whole: Rule = { kind: 'integer' }
const closedObject = (fields: Record<string, Rule>): Rule => ({ kind: 'object', fields, closed: true, required: true })
const inputs: Record<ReplicateModel['makes'], Rule> = {
  image: closedObject({
    prompt: text,
    negative_prompt: words,
    aspect_ratio: words,
    width: whole,
    height: whole,
    num_outputs: { kind: 'integer', min: 1, max: 4 },
    seed: whole,
    output_format: { kind: 'string', values: ['webp', 'jpg', 'png'] },
    output_quality: { kind: 'integer', min: 0, max: 100 },
    image: words,
    input_image: words,
    // Of Flux 2, up to eight: @ai-sdk/replicate 3.0.46, replicate-image-model.ts.
    ...Object.fromEntries([2, 3, 4, 5, 6, 7, 8].map((place) => [`input_image_${place}`, words])),
    mask: words,
  }),
  video: closedObject({ prompt: text, first_frame_image: words, duration: whole, aspect_ratio: words, seed: whole }),
  speech: closedObject({ text, voice_id: words, speed: { kind: 'number', min: 0.5, max: 2 }, language_boost: words }),
}
const around = {
  webhook: words,
  webhook_events_filter: { kind: 'array', items: { kind: 'string', values: ['start', 'output', 'logs', 'completed'] } },
  stream: { kind: 'boolean' },
} satisfies Record<string, Rule>

/** A model lists its inputs: replicate 1.4.0, index.d.ts, `ModelVersion.openapi_schema`. */
function describeModel({ id: slug, makes, version = 'hidden' }: ReplicateModel): Json {
  const [owner, name] = slug.split('/')
  const { fields = {} } = inputs[makes] as { fields?: Record<string, { kind: string }> }
  const properties = Object.fromEntries(Object.entries(fields).map(([field, { kind }]) => [field, { type: kind }]))
  const openapi_schema = { components: { schemas: { Input: { type: 'object', properties } } } }
  return { url: `https://replicate.com/${slug}`, owner, name, latest_version: { id: version, openapi_schema } }
}

class Replicate {
  readonly models: ReplicateModel[]
  readonly keys: string[]
  readonly links: Links
  readonly jobs = new Jobs()
  readonly #outputs = new Map<string, string | string[]>()

  constructor(models: ReplicateModel[], keys: string[], links: Links) {
    this.models = models
    this.keys = keys
    this.links = links
  }

  async answer(call: Call): Promise<Answer> {
    const { method, path, request } = call
    const apiKey = /^(?:Bearer|Token) (.+)$/i.exec(request.headers.authorization ?? '')?.[1]
    if (apiKey === undefined || !this.keys.includes(apiKey)) return unauthenticatedError()
    call.key = apiKey
    const origin = `http://${request.headers.host}`
    if (method === 'GET' && path === '/v1/account') {
      return { status: 200, body: { type: 'user', username: 'loopback', name: 'Loopback', github_url: null } }
    }
    const [, modelInPath] = /^\/v1\/models\/([^/]+\/[^/]+)$/.exec(path) ?? []
    const model = this.models.find((one) => one.id === modelInPath)
    if (method === 'GET' && model) return { status: 200, body: describeModel(model) }
    const [, named] = /^\/v1\/models\/([^/]+\/[^/]+)\/predictions$/.exec(path) ?? []
    if (method === 'POST' && (named !== undefined || path === '/v1/predictions')) {
      return await this.#create(call, named, origin)
    }
    const [, name, cancel] = /^\/v1\/predictions\/([^/]+)(\/cancel)?$/.exec(path) ?? []
    const job = name === undefined ? undefined : this.jobs.find(name, apiKey)
    if (!job) return problem(404, 'Not found', 'The requested resource could not be found.')
    if (method === 'POST' && cancel) {
      const isAccepted = this.jobs.cancel(job, call)
      if (!isAccepted && job.making.job?.cancel === 'refused')
        return problem(500, 'Internal server error', 'Try again.')
      return { status: 200, body: await this.#shown(job, origin) }
    }
    if (method !== 'GET' || cancel) return problem(405, 'Method not allowed', 'Method not allowed')
    this.jobs.poll(job, call)
    return { status: 200, body: await this.#shown(job, origin) }
  }

  async #create(call: Call, modelName: string | undefined, origin: string): Promise<Answer> {
    const body = parse(call.request.body)
    if (!body) return problem(400, 'Bad request', 'The body is not JSON.')
    const version: unknown = body['version']
    const model = this.models.find((one) =>
      modelName ? one.id === modelName : one.version === version || one.id === version,
    )
    if (!model)
      return modelName === undefined ? missing('version') : problem(404, 'Not found', 'The model does not exist.')
    const fault = check(
      closedObject({ ...around, ...(modelName ? {} : { version: text }), input: inputs[model.makes] }),
      body,
    )
    if (fault) {
      const field = fault.path.join('.')
      return problem(422, 'Input validation failed', `- ${field}: ${fault.kind}\n`, {
        invalid_fields: [{ type: fault.kind, field, description: fault.kind }],
      })
    }
    const job = this.jobs.begin(call, id('', 26).toLowerCase(), { model: model.id, ...body })
    const waits = /^wait(=\d+)?$/.test(String(call.request.headers['prefer'] ?? ''))
    if (waits) while (job.endedAt === undefined && job.polled.length < 2) this.jobs.poll(job, call)
    return { status: 201, body: await this.#shown(job, origin) }
  }

  async #shown(job: Job, origin: string): Promise<Json> {
    const at = `${origin}/v1/predictions/${job.id}`
    const status = statuses[job.state]
    const endFields = job.endedAt === undefined ? {} : { completed_at: new Date(job.endedAt).toISOString() }
    const startFields = job.polled.length > 0 ? { started_at: new Date(job.at).toISOString() } : {}
    const seconds = ((job.endedAt ?? job.at) - job.at) / 1_000
    return {
      id: job.id,
      model: job.ask['model'],
      version: job.ask['version'] ?? 'hidden',
      input: job.ask['input'],
      logs: '',
      output: status === 'succeeded' ? await this.#output(job) : null,
      data_removed: false,
      error: errors[job.state] ?? null,
      source: 'api',
      status,
      created_at: new Date(job.at).toISOString(),
      ...startFields,
      ...endFields,
      urls: { cancel: `${at}/cancel`, get: at, stream: `${at}/stream`, web: `${at}/web` },
      ...(status === 'succeeded' ? { metrics: { predict_time: seconds, total_time: seconds } } : {}),
    }
  }

  async #output(job: Job): Promise<string | string[]> {
    const existing = this.#outputs.get(job.id)
    if (existing !== undefined) return existing
    const model = this.models.find((one) => one.id === job.ask['model'])
    const input: Json = job.ask['input']
    const files = await Promise.all(
      Array.from({ length: input['num_outputs'] ?? 1 }, async (_, n) => await make(model, input, job, n)),
    )
    const urls = files.map((file) => this.links.lay(file, job.making, job.key))
    const output = model?.list ? urls : (urls[0] ?? '')
    this.#outputs.set(job.id, output)
    return output
  }
}

const missing = (field: string) => problem(422, 'Invalid version or not permitted', `- ${field} does not exist\n`)

const statuses = {
  queued: 'starting',
  running: 'processing',
  done: 'succeeded',
  failed: 'failed',
  moderated: 'failed',
  cancelled: 'canceled',
} as const

const errors: Partial<Record<Job['state'], string>> = {
  failed: 'Prediction failed: an unexpected error occurred.',
  moderated: 'The input or output was flagged as sensitive. Please try again with different inputs. (E005)',
}

const sizes: Record<string, string> = { '16:9': '1344x768', '9:16': '768x1344', '4:3': '1152x896', '3:4': '896x1152' }

async function make(model: ReplicateModel | undefined, input: Json, { making }: Job, n: number) {
  if (model?.makes === 'speech') return sound(making.seconds ?? [...input['text']].length / 15, 'mp3')
  const own = input['width'] && input['height'] ? `${input['width']}x${input['height']}` : undefined
  const size = own ?? sizes[input['aspect_ratio']]
  if (model?.makes === 'video')
    return video(making.size ?? size ?? '1280x720', making.seconds ?? input['duration'] ?? 6)
  const format = (input['output_format'] ?? 'webp').replace('jpg', 'jpeg') as PictureFormat
  return await picture(making.size ?? size ?? '1024x1024', { format, words: `${input['prompt']} ${n}` })
}
