// fal's queue on loopback: submit, status, result, and cancel at its own links, files on another origin.
//
// Sources: @fal-ai/client 1.10.1 (src/queue.js, types/common.d.ts: links, statuses, paths without the endpoint's own);
// docs: inference-api/queue/cancel (four answers), model-apis/errors and request-errors (`detail` as list or text,
// `error_type`, X-Fal-Retryable, X-Fal-Error-Type); @ai-sdk/fal ("Request is still in progress").
//
// Unknown, so only guessed: that the runner checks inputs, so that the result reports errors and the submit doesn't;
// whether unknown inputs are rejected (they are here); the result of a canceled request; the words of 401 and 404.
import { randomUUID } from 'node:crypto'
import type { Answer, Whole } from '../../delivery/deliver.ts'
import { parse } from '../../delivery/plan.ts'
import { check, type Rule } from '../../rules.ts'
import { serve, type Call } from '../../server.ts'
import type { Json, Options, Refusal } from '../../vendor.ts'
import { picture, type PictureFormat } from '../made/picture.ts'
import { sound } from '../made/sound.ts'
import { transcriptOf } from '../made/transcript.ts'
import { video } from '../made/video.ts'
import { Jobs, mediaVendor, type Job, type MediaVendor } from './jobs.ts'
import { startLinks, type Links } from './links.ts'

export type FalModel = { id: string; makes: 'image' | 'video' | 'speech' | 'transcription' }

export const falModels: FalModel[] = [
  { id: 'fal-ai/flux/schnell', makes: 'image' },
  { id: 'fal-ai/flux-pro/v1.1', makes: 'image' },
  { id: 'fal-ai/veo3', makes: 'video' },
  { id: 'fal-ai/kokoro/american-english', makes: 'speech' },
  { id: 'fal-ai/wizper', makes: 'transcription' },
]

/** Its base URL is the origin of the queue. */
export async function falMedia(options: Options<FalModel> = {}): Promise<MediaVendor> {
  const { models = falModels, otherwise, key = 'fal-loopback:secret', keys = [] } = options
  const links = await startLinks()
  const shop = new Fal(models, [key, ...keys], links)
  const vendor = await serve({
    key,
    otherwise,
    answer: async (call) => await shop.answer(call),
    failure: ({ status, type, message }) => platformError(status, message ?? 'Internal error', type),
    refusals,
    headers: () => ({ 'x-fal-request-id': randomUUID() }),
  })
  return mediaVendor(vendor, { jobs: shop.jobs.list, files: links.vendor, expire: links.expire })
}

/** A platform error, whose detail is a text. */
function platformError(status: number, detail: string, type?: string): Whole {
  const errorType = type ?? (status === 504 ? 'request_timeout' : undefined)
  if (errorType === undefined) return { status, body: { detail } }
  return { status, body: { detail, error_type: errorType }, headers: { 'x-fal-error-type': errorType } }
}

/** A model error, whose detail is a list. */
function modelError(loc: (string | number)[], msg: string, type: string): Whole {
  return { status: 422, body: { detail: [{ loc, msg, type }] }, headers: { 'x-fal-retryable': 'false' } }
}

const refusals: Record<Refusal, () => Whole> = {
  key: () => platformError(401, 'Authentication is required to access this application'),
  permission: () => platformError(403, 'Access denied'),
  quota: () =>
    platformError(403, 'User is locked. Reason: Exhausted balance. Top up your balance at fal.ai/dashboard/billing.'),
  throttle: () => ({ ...platformError(429, 'Too many requests'), headers: { 'retry-after': '1' } }),
}

const text: Rule = { kind: 'string', required: true }
const words: Rule = { kind: 'string' }
const whole: Rule = { kind: 'integer' }
const closedObject = (fields: Record<string, Rule>): Rule => ({ kind: 'object', fields, closed: true })
const inputs: Record<FalModel['makes'], Rule> = {
  image: closedObject({
    prompt: text,
    negative_prompt: words,
    image_size: { kind: ['string', 'object'], fields: { width: whole, height: whole }, closed: true },
    aspect_ratio: words,
    num_images: { kind: 'integer', min: 1, max: 4 },
    num_inference_steps: whole,
    guidance_scale: { kind: 'number' },
    seed: whole,
    image_url: words,
    image_urls: { kind: 'array', items: words },
    mask_url: words,
    strength: { kind: 'number' },
    enable_safety_checker: { kind: 'boolean' },
    safety_tolerance: words,
    output_format: { kind: 'string', values: ['jpeg', 'png'] },
    sync_mode: { kind: 'boolean' },
  }),
  video: closedObject({
    prompt: text,
    negative_prompt: words,
    aspect_ratio: words,
    duration: words,
    resolution: words,
    generate_audio: { kind: 'boolean' },
    seed: whole,
    image_url: words,
    first_frame_url: words,
    last_frame_url: words,
    image_urls: { kind: 'array', items: words },
  }),
  speech: closedObject({ prompt: words, text: words, voice: words, speed: { kind: 'number' }, output_format: words }),
  transcription: closedObject({
    audio_url: text,
    task: { kind: 'string', values: ['transcribe', 'translate'] },
    language: { kind: 'string', nullable: true },
    chunk_level: words,
    version: words,
    diarize: { kind: 'boolean' },
  }),
}

class Fal {
  readonly models: FalModel[]
  readonly keys: string[]
  readonly links: Links
  readonly jobs = new Jobs()
  readonly #results = new Map<string, Json>()

  constructor(models: FalModel[], keys: string[], links: Links) {
    this.models = models
    this.keys = keys
    this.links = links
  }

  async answer(call: Call): Promise<Answer> {
    const { method, path, request } = call
    const apiKey = /^Key (.+)$/.exec(request.headers.authorization ?? '')?.[1]
    if (apiKey === undefined || !this.keys.includes(apiKey)) return refusals.key()
    call.key = apiKey
    const [, app, name, verb] = /^\/([^/]+\/[^/]+)\/requests\/([^/]+)(\/status|\/cancel)?$/.exec(path) ?? []
    if (app === undefined || name === undefined)
      return method === 'POST' ? this.#submit(call) : platformError(404, 'Not Found')
    const job = this.jobs.find(name, apiKey)
    if (!job || appOf(job.ask['model']) !== app) {
      return verb === '/cancel'
        ? { status: 404, body: { status: 'NOT_FOUND' } }
        : platformError(404, 'Request not found')
    }
    if (verb === '/cancel') return method === 'PUT' ? this.#cancel(call, job) : platformError(405, 'Method Not Allowed')
    if (method !== 'GET') return platformError(405, 'Method Not Allowed')
    return verb === '/status' ? this.#status(call, job) : await this.#result(job)
  }

  #submit(call: Call): Answer {
    const { request, path } = call
    const model = this.models.find((one) => `/${one.id}` === path)
    if (!model) return platformError(404, `Application "${path.slice(1)}" not found`)
    const odd = [...request.query.keys()].find((name) => name !== 'fal_webhook')
    if (odd !== undefined) return modelError(['query', odd], 'Extra inputs are not permitted', 'extra_forbidden')
    const input = parse(request.body)
    if (!input) return modelError(['body'], 'JSON decode error', 'json_invalid')
    const job = this.jobs.begin(call, randomUUID(), { model: model.id, input })
    return { status: 200, body: { status: 'IN_QUEUE', ...linksOf(call, job), queue_position: 0 } }
  }

  #status(call: Call, job: Job): Answer {
    const state = this.jobs.poll(job, call)
    const around = linksOf(call, job)
    if (state === 'queued') return { status: 202, body: { status: 'IN_QUEUE', ...around, queue_position: 0 } }
    const logs = call.request.query.get('logs') === '1' ? { logs: [] } : { logs: null }
    if (state === 'running') return { status: 202, body: { status: 'IN_PROGRESS', ...around, ...logs } }
    const metrics = { inference_time: ((job.endedAt ?? job.at) - job.at) / 1_000 }
    return { status: 200, body: { status: 'COMPLETED', ...around, ...logs, metrics } }
  }

  #cancel(call: Call, job: Job): Answer {
    if (job.endedAt !== undefined) return { status: 400, body: { status: 'ALREADY_COMPLETED' } }
    const isAccepted = this.jobs.cancel(job, call)
    return isAccepted
      ? { status: 202, body: { status: 'CANCELLATION_REQUESTED' } }
      : platformError(500, 'Internal error')
  }

  async #result(job: Job): Promise<Answer> {
    const { ask, state } = job
    if (job.endedAt === undefined) return platformError(400, 'Request is still in progress')
    const model = this.models.find((one) => one.id === ask['model'])
    if (!model) return platformError(404, 'Not Found')
    if (state === 'cancelled') return platformError(499, 'Request was cancelled by the client', 'client_cancelled')
    const fault = check(inputs[model.makes], ask['input'])
    if (fault) {
      const kinds: Record<string, string> = { missing: 'missing', unknown: 'extra_forbidden' }
      return modelError(['body', ...fault.path], fault.kind, kinds[fault.kind] ?? 'value_error')
    }
    if (state === 'failed') return platformError(503, 'Runner disconnected', 'runner_disconnected')
    if (state === 'moderated') {
      const why = 'The content could not be processed because it contained material flagged by a content checker.'
      return modelError(['body', 'prompt'], why, 'content_policy_violation')
    }
    const result = this.#results.get(job.id) ?? (await this.#make(model, job))
    this.#results.set(job.id, result)
    return { status: 200, body: result }
  }

  async #make({ makes }: FalModel, job: Job): Promise<Json> {
    const { making, key } = job
    const input: Json = job.ask['input']
    const lay = (file: { bytes: Buffer; type: string }) => this.links.lay(file, making, key)
    if (makes === 'transcription') {
      const { text: spokenText, segments } = transcriptOf(Buffer.alloc(0), { seconds: 2, ...making })
      const chunks = segments.map((one) => ({ timestamp: [one.start, one.end], text: one.text }))
      return { text: spokenText, chunks, languages: ['en'] }
    }
    if (makes === 'speech') {
      const seconds = making.seconds ?? [...String(input['prompt'] ?? input['text'] ?? '')].length / 15
      const file = sound(seconds, 'wav')
      const fileInfo = { file_name: 'tmp.wav', file_size: file.bytes.length, content_type: file.type }
      return { audio: { url: lay(file), ...fileInfo } }
    }
    if (makes === 'video') {
      const size = making.size ?? (input['aspect_ratio'] === '9:16' ? '720x1280' : '1280x720')
      const file = video(size, making.seconds ?? Number.parseInt(input['duration'] ?? '8', 10))
      return {
        video: { url: lay(file), content_type: file.type, file_name: 'output.mp4', file_size: file.bytes.length },
      }
    }
    const size = making.size ?? sizeOf(input['image_size'])
    const [width, height] = size.split('x').map(Number)
    const format = (input['output_format'] ?? 'jpeg') as PictureFormat
    const images = await Promise.all(
      Array.from({ length: input['num_images'] ?? 1 }, async (_, n) => {
        const file = await picture(size, { format, words: `${input['prompt']} ${n}` })
        return { url: lay(file), width, height, content_type: file.type }
      }),
    )
    const clean = images.map(() => false)
    const timings = { inference: 0.1 }
    return { images, timings, seed: input['seed'] ?? 1, has_nsfw_concepts: clean, prompt: input['prompt'] }
  }
}

/** The first two segments of a model's path: the links of a request leave out the rest. */
function appOf(model: string): string {
  return model.split('/').slice(0, 2).join('/')
}

function linksOf({ request }: Call, job: Job): Json {
  const at = `http://${request.headers.host}/${appOf(job.ask['model'])}/requests/${job.id}`
  return { request_id: job.id, response_url: at, status_url: `${at}/status`, cancel_url: `${at}/cancel` }
}

const namedSizes: Record<string, string> = {
  square_hd: '1024x1024',
  square: '512x512',
  portrait_4_3: '768x1024',
  portrait_16_9: '576x1024',
  landscape_4_3: '1024x768',
  landscape_16_9: '1024x576',
}

function sizeOf(value: unknown): string {
  if (typeof value === 'object' && value !== null) {
    const { width = 512, height = 512 } = value as { width?: number; height?: number }
    return `${width}x${height}`
  }
  return namedSizes[String(value)] ?? '1024x768'
}
