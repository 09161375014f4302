import { refuse } from '#core/errors.ts'
import type { Principal } from '#core/principal.ts'
import type { GatewayRequest } from '../../../request/request.ts'
import type { ShelvedVideo, VideoAsk, VideoShelf } from '../../../request/video-shelf.ts'
import { type UploadedFile, fieldsOf } from './read-body.ts'
import { shorten } from '#core/text/shorten.ts'

const PREFIX = 'video_'
const MAX_LISTED = 100
/** OpenAI's default: its API description 2.3.0. */
const MODEL = 'sora-2'

const idIn = (path: string): string => (path.startsWith(PREFIX) ? path.slice(PREFIX.length) : '')
const seconds = (date: Date | null): number | null => (date === null ? null : Math.floor(date.getTime() / 1000))

/** Unset fields are left to the model, and unknown until it has ended. */
const writeVideo = ({ id, model, prompt, size, status, progress, error, ...video }: ShelvedVideo): object => ({
  id: PREFIX + id,
  object: 'video',
  model,
  status,
  progress: status === 'completed' ? 100 : Math.round(progress * 100),
  prompt,
  seconds: video.seconds === null ? '' : String(video.seconds),
  size: size ?? '',
  created_at: seconds(video.createdAt),
  completed_at: seconds(video.completedAt),
  expires_at: seconds(video.expiresAt),
  error,
  remixed_from_video_id: null,
})

export function serveVideos(request: GatewayRequest, shelf: VideoShelf, path: string, bytes: Buffer | null): void {
  request.after(answer(request, shelf, path, bytes), () => {})
}

async function answer(request: GatewayRequest, shelf: VideoShelf, path: string, bytes: Buffer | null): Promise<void> {
  const { principal } = request.caller
  const { method, url, headers } = request.incoming
  const query = new URL(url!, 'http://here').searchParams
  const [name = '', part] = path.split('/')
  if (bytes !== null) {
    const ask = askIn(bytes, headers['content-type'])
    request.leaveBody()
    const abort = new AbortController()
    request.onLeave(() => abort.abort())
    return request.json(200, writeVideo(await shelf.begin(principal, ask, abort.signal)))
  }
  if (name === '') return request.json(200, await listVideos(shelf, principal, query))
  const id = idIn(name)
  if (method === 'DELETE') {
    if (id === '' || part !== undefined || !(await shelf.remove(principal, id))) noVideo(name)
    return request.json(200, { id: name, object: 'video.deleted', deleted: true })
  }
  if (part === 'content') return await sendContent(request, shelf, name, query.get('variant') ?? 'video')
  const video = id === '' || part !== undefined ? null : await shelf.get(principal, id)
  request.json(200, writeVideo(video ?? noVideo(name)))
}

const noVideo = (name: string): never =>
  refuse('not_found', {
    param: 'video_id',
    message: `The video \`${shorten(name, 100)}\` doesn’t exist, or you don’t have access to it.`,
  })

function askIn(bytes: Buffer, contentType: string | undefined): VideoAsk {
  const { fields, files } = fieldsOf(bytes, contentType)
  const size = fields.size('size')
  const seconds = fields.number('seconds')
  const reference = files.find(({ name }) => name === 'input_reference')
  const ask = {
    model: fields.text('model') ?? MODEL,
    prompt: fields.needed('prompt'),
    seconds,
    size: size === null ? null : `${size.width}x${size.height}`,
    reference: reference === undefined ? null : pictureOf(reference),
  }
  const [unread] = fields.unread()
  if (unread !== undefined)
    refuse('invalid_parameter', {
      param: unread,
      message: `\`${unread}\` isn’t a supported field. Use model, prompt, seconds, size, and the file input_reference.`,
    })
  return ask
}

const pictureOf = ({ bytes }: UploadedFile) => ({ type: 'image/png', bytes })

async function listVideos(shelf: VideoShelf, principal: Principal, query: URLSearchParams): Promise<object> {
  const limit = Number(query.get('limit') ?? 20)
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LISTED)
    refuse('invalid_parameter', { param: 'limit', message: `\`limit\` must be from 1 to ${MAX_LISTED}.` })
  const after = query.get('after')
  const order = query.get('order') === 'asc' ? 'asc' : 'desc'
  const rows = await shelf.list(principal, { after: after === null ? null : idIn(after), limit: limit + 1, order })
  const data = rows.slice(0, limit).map(writeVideo)
  const ids = rows.slice(0, limit).map(({ id }) => PREFIX + id)
  return { object: 'list', data, first_id: ids[0] ?? null, last_id: ids.at(-1) ?? null, has_more: rows.length > limit }
}

async function sendContent(request: GatewayRequest, shelf: VideoShelf, name: string, variant: string): Promise<void> {
  if (variant !== 'video')
    refuse('invalid_parameter', { param: 'variant', message: 'Only the variant `video` is available.' })
  const { principal } = request.caller
  const video = (await shelf.get(principal, idIn(name))) ?? noVideo(name)
  if (video.status !== 'completed')
    refuse('not_ready', {
      message: `The video’s status is ${video.status}. Its content is available once it’s completed.`,
    })
  const content = (await shelf.content(principal, video.id)) ?? noVideo(name)
  const { head, response } = request
  head.push('content-type', content.type, 'content-length', String(content.size), 'x-content-type-options', 'nosniff')
  response.writeHead(200, head)
  for await (const part of content.bytes) {
    if (response.destroyed) return
    // Requesting the next part invalidates this one.
    if (!response.write(Buffer.from(part)))
      await new Promise<void>((resolve) => {
        response.once('drain', resolve)
        response.once('close', resolve)
      })
  }
  response.end()
}
