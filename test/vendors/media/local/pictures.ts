// Two local image servers in OpenAI's shape: stable-diffusion.cpp answers base64, LocalAI a link on its own host.
//
// Sources: stable-diffusion.cpp, examples/server/api.md and routes_openai.cpp (unknown fields are ignored; the default
// size is 512×512); LocalAI's documentation and issues ({error{code, message, type}}, links of /generated-images/ on
// the called host).
//
// Unknown, so only guessed: the words of LocalAI's errors; `usage`, left out.
import type { Answer, Whole } from '../../delivery/deliver.ts'
import { id, parse } from '../../delivery/plan.ts'
import { serve, type Call } from '../../server.ts'
import type { Behaviour, Json } from '../../vendor.ts'
import { mediaVendor, type MediaVendor } from '../jobs/jobs.ts'
import { wholeOf, spoil, type MediaFile } from '../made/file.ts'
import { measure, picture, type PictureFormat } from '../made/picture.ts'
import { bodyOf, isUpload, partsOf } from '../multipart.ts'

export type DrawingOptions = { otherwise?: Behaviour; key?: string; models?: string[] }

/** Its base URL is `<origin>/v1`. It takes no key and has one model under any name. */
export async function stableDiffusionCppMedia({ otherwise }: DrawingOptions = {}): Promise<MediaVendor> {
  const vendor = await serve({
    key: '',
    otherwise,
    answer: async (call) => await stableDiffusionCpp(call),
    failure: ({ status, message }) => ({ status, body: { error: 'server_error', message: message ?? 'failed' } }),
    headers: () => ({}),
  })
  return mediaVendor(vendor, {})
}

async function stableDiffusionCpp(call: Call): Promise<Answer> {
  const { method, path, request } = call
  if (method === 'GET' && path === '/v1/models') {
    return { status: 200, body: { data: [{ id: 'sd-cpp-local', object: 'model', owned_by: 'local' }] } }
  }
  const fault = (error: string): Whole => ({ status: 400, body: { error } })
  if (method === 'POST' && path === '/v1/images/generations') {
    if (request.body.length === 0) return fault('empty body')
    const body = parse(request.body)
    if (!body) return { status: 500, body: { error: 'server_error', message: 'parse error' } }
    return body['prompt'] ? await encodeImages(call, body, body['size'] || '512x512') : fault('prompt required')
  }
  if (method !== 'POST' || path !== '/v1/images/edits') return { status: 404, body: '' }
  const parts = partsOf(request)
  if (typeof parts === 'string') return fault('Content-Type must be multipart/form-data')
  const body = bodyOf(parts, { kind: 'object', fields: { n: { kind: 'integer' } } })
  if (!body['prompt']) return fault('prompt required')
  const [first] = [body['image'] ?? []].flat() as unknown[]
  const measured = isUpload(first) ? await measure(first.bytes) : undefined
  return measured
    ? await encodeImages(call, body, body['size'] || `${measured.width}x${measured.height}`)
    : fault('at least one image[] required')
}

async function encodeImages({ behaviour }: Call, body: Json, size: string): Promise<Answer> {
  const format: PictureFormat = body['output_format'] ?? 'png'
  if (!['png', 'jpeg', 'webp'].includes(format)) return { status: 400, body: { error: 'invalid output_format' } }
  const files = await drawImages(behaviour, body, size, format)
  const data = files.map(({ bytes }) => ({ b64_json: bytes.toString('base64') }))
  return { status: 200, body: { created: Math.floor(Date.now() / 1_000), output_format: format, data } }
}

async function drawImages({ media }: Behaviour, body: Json, size: string, format: PictureFormat): Promise<MediaFile[]> {
  return await Promise.all(
    Array.from({ length: Math.max(1, body['n'] ?? 1) }, async (_, n) =>
      spoil(await picture(media?.size ?? size, { format, words: `${body['prompt']} ${n}` }), media?.spoiled),
    ),
  )
}

/** Its base URL is `<origin>/v1`. `key`: it was started with one, else it requires none. */
export async function localAIMedia(options: DrawingOptions = {}): Promise<MediaVendor> {
  const { otherwise, key = '', models = ['stablediffusion'] } = options
  const storedFiles = new Map<string, { file: MediaFile; asked: Behaviour | undefined }>()
  let late = false
  const vendor = await serve({
    key,
    otherwise,
    answer: async (call) => {
      const { method, path, request } = call
      const storedFile = storedFiles.get(path)
      if (method === 'GET' && storedFile && !late) {
        call.behaviour = { ...storedFile.asked, ...call.behaviour }
        return wholeOf(storedFile.file)
      }
      if (key !== '' && request.headers.authorization !== `Bearer ${key}`) return localAIFault(401, 'Invalid API key')
      if (method === 'GET' && path === '/v1/models') {
        return { status: 200, body: { object: 'list', data: models.map((name) => ({ id: name, object: 'model' })) } }
      }
      if (method !== 'POST' || path !== '/v1/images/generations') return localAIFault(404, 'Resource not found')
      const body = parse(request.body)
      if (!body?.['prompt']) return localAIFault(400, 'the prompt is missing')
      if (body['model'] !== undefined && !models.includes(body['model'])) {
        return localAIFault(500, `could not load model: ${body['model']}`)
      }
      const files = await drawImages(call.behaviour, body, body['size'] || '512x512', 'png')
      const data = files.map((file) => {
        if (body['response_format'] === 'b64_json') return { b64_json: file.bytes.toString('base64') }
        const at = `/generated-images/b64${id('', 10)}.png`
        storedFiles.set(at, { file, asked: call.behaviour.media?.link?.asked })
        return { url: `http://${request.headers.host}${at}` }
      })
      return { status: 200, body: { created: Math.floor(Date.now() / 1_000), id: id('', 36), data } }
    },
    failure: ({ status, message }) => localAIFault(status, message ?? 'Internal Server Error'),
    headers: () => ({}),
  })
  return mediaVendor(vendor, { expire: () => (late = true) })
}

function localAIFault(code: number, message: string): Whole {
  return { status: code, body: { error: { code, message, type: '' } } }
}
