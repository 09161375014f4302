// /v1/videos: a job by a form or JSON, polls, the file at the vendor itself, deletion after the end, the list.
import type { Answer, Whole } from '../../delivery/deliver.ts'
import { id, parse } from '../../delivery/plan.ts'
import { problem } from '../../openai/errors.ts'
import { faultError, type OpenAIError } from '../../openai/rules.ts'
import { check } from '../../rules.ts'
import type { Call } from '../../server.ts'
import type { Json } from '../../vendor.ts'
import { Jobs, type Job } from '../jobs/jobs.ts'
import { wholeOf, spoil } from '../made/file.ts'
import { measure, picture } from '../made/picture.ts'
import { video as film } from '../made/video.ts'
import { bodyOf, isUpload, partsOf } from '../multipart.ts'
import { isJson } from './images.ts'
import { video } from './rules.ts'

const KEPT_SECONDS = 3_600

export class Videos {
  readonly jobs = new Jobs()
  readonly #late = new Set<string>()

  async answer(call: Call): Promise<Answer | undefined> {
    const { method, path } = call
    if (path === '/v1/videos' && method === 'POST') return await this.#create(call)
    if (path === '/v1/videos' && method === 'GET') return this.#list(call)
    const [, name, content] = /^\/v1\/videos\/([^/]+)(\/content)?$/.exec(path) ?? []
    if (name === undefined) return undefined
    const job = this.jobs.find(name, call.key ?? '')
    if (!job) return problem({ status: 404, message: `Video with id '${name}' not found.`, code: 'not_found' })
    if (method === 'GET') return content ? await this.#content(call, job) : this.#poll(call, job)
    return method === 'DELETE' && !content ? this.#remove(job) : undefined
  }

  expire(): void {
    for (const { id: name } of this.jobs.list) this.#late.add(name)
  }

  async #create(call: Call): Promise<Answer> {
    const body = bodyIn(call)
    if (!body) return problem({ status: 400, message: 'We could not parse the body of your request.' })
    const fault = check(video, body)
    if (fault) return problem(faultError(fault))
    const ask: Json = { model: 'sora-2', seconds: '4', size: '720x1280', ...body }
    const refusal = await reference(ask)
    if (refusal) return problem(refusal)
    return { status: 200, body: videoFields(this.jobs.begin(call, id('video_', 48).toLowerCase(), ask)) }
  }

  #poll(call: Call, job: Job): Whole {
    this.jobs.poll(job, call)
    return { status: 200, body: videoFields(job) }
  }

  async #content(call: Call, job: Job): Promise<Answer> {
    if (job.state !== 'done') {
      const message = 'Video is not ready yet, use GET /v1/videos/{video_id} to check status.'
      return problem({ status: job.state === 'failed' ? 400 : 404, message })
    }
    const { ask, making } = job
    if (this.#late.has(job.id) || making.link?.expired) {
      return problem({ status: 404, message: `Video content for '${job.id}' has expired.`, code: 'not_found' })
    }
    call.behaviour = { ...making.link?.asked, ...call.behaviour }
    const size = making.size ?? (ask['size'] as string)
    const variant = call.request.query.get('variant') ?? 'video'
    if (variant === 'video') return wholeOf(spoil(film(size, making.seconds ?? Number(ask['seconds'])), making.spoiled))
    if (variant === 'thumbnail') return wholeOf(await picture(size, { format: 'webp' }))
    if (variant === 'spritesheet') return wholeOf(await picture(size, { format: 'jpeg' }))
    const message = `Invalid value: '${variant}'. Supported values are: 'video', 'thumbnail', and 'spritesheet'.`
    return problem({ status: 400, message, param: 'variant', code: 'invalid_value' })
  }

  #remove(job: Job): Whole {
    if (job.endedAt === undefined) {
      return problem({ status: 400, message: 'Only completed or failed videos can be deleted.' })
    }
    this.jobs.list.splice(this.jobs.list.indexOf(job), 1)
    return { status: 200, body: { id: job.id, object: 'video.deleted', deleted: true } }
  }

  #list({ key, request: { query } }: Call): Whole {
    const mine = this.jobs.list.filter((job) => job.key === key)
    if (query.get('order') !== 'asc') mine.reverse()
    const after = mine.findIndex((job) => job.id === query.get('after')) + 1
    const limit = Number(query.get('limit') ?? 20)
    const data = mine.slice(after, after + limit).map(videoFields)
    const ends = { first_id: data[0]?.['id'] ?? null, last_id: data.at(-1)?.['id'] ?? null }
    return { status: 200, body: { object: 'list', data, ...ends, has_more: after + limit < mine.length } }
  }
}

function bodyIn(call: Call): Json | undefined {
  if (isJson(call)) return parse(call.request.body)
  const parts = partsOf(call.request)
  return typeof parts === 'string' ? undefined : bodyOf(parts, video)
}

/** A start image must be as large as the video. In JSON it is a URL or a file ID, which isn't checked. */
async function reference({ input_reference: inputReference, size }: Json): Promise<OpenAIError | undefined> {
  if (inputReference === undefined) return undefined
  const wrong = (message: string): OpenAIError => ({ status: 400, message, param: 'input_reference' })
  if (!isUpload(inputReference)) {
    const isJsonReference =
      typeof inputReference['file_id'] === 'string' || typeof inputReference['image_url'] === 'string'
    return isJsonReference ? undefined : wrong('input_reference needs image_url or file_id.')
  }
  const measured = await measure(inputReference.bytes)
  if (!measured) return wrong('input_reference is not an image that can be read.')
  const fits = `${measured.width}x${measured.height}` === size
  return fits ? undefined : wrong('Inpaint image must match the requested width and height')
}

const statuses = { queued: 'queued', running: 'in_progress', done: 'completed' }

function videoFields({ id: name, ask, at, endedAt, state, polled, making }: Job): Json {
  const status = statuses[state as keyof typeof statuses] ?? 'failed'
  const createdAt = Math.floor(at / 1000)
  const part = Math.min(99, Math.round((100 * polled.length) / ((making.job?.polls ?? 1) + 1)))
  const running = status === 'in_progress' ? part : 0
  const error =
    state === 'moderated'
      ? { code: 'moderation_blocked', message: 'Your request was blocked by our moderation system.' }
      : { code: 'video_generation_failed', message: 'Video generation failed.' }
  return {
    id: name,
    object: 'video',
    created_at: createdAt,
    status,
    completed_at: status === 'completed' ? Math.floor((endedAt ?? at) / 1000) : null,
    error: status === 'failed' ? error : null,
    expires_at: status === 'completed' ? Math.floor((endedAt ?? at) / 1000) + KEPT_SECONDS : null,
    model: ask['model'],
    progress: status === 'completed' ? 100 : running,
    prompt: ask['prompt'],
    remixed_from_video_id: null,
    seconds: ask['seconds'],
    size: ask['size'],
  }
}
