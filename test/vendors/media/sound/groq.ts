// Groq on loopback: transcripts in OpenAI's shape, of a file or a URL.
//
// Sources: @ai-sdk/groq 4.0.84 (fields of the form, `x_groq`, text that starts with a space);
// console.groq.com/docs/speech-to-text (two models, translation by one); issue trackers (413 `request_too_large`);
// media.md 2.
//
// Unknown, so only guessed: the words of its errors; whether unknown fields are rejected (they are here).
import type { Answer, Whole } from '../../delivery/deliver.ts'
import { id } from '../../delivery/plan.ts'
import { errorOf, problem, refusals, messageFor } from '../../openai/errors.ts'
import { entryOf } from '../../openai/openai.ts'
import { faultError } from '../../openai/rules.ts'
import { check, type Rule } from '../../rules.ts'
import { serve, type Call } from '../../server.ts'
import type { Json, Options } from '../../vendor.ts'
import { mediaVendor, type MediaVendor } from '../jobs/jobs.ts'
import { transcriptOf } from '../made/transcript.ts'
import { bodyOf, isUpload, partsOf } from '../multipart.ts'
import { unheard, verbose } from '../openai/transcriptions.ts'

const text: Rule = { kind: 'string', required: true }
const fields: Record<string, Rule> = {
  model: text,
  file: { kind: 'object' },
  url: { kind: 'string' },
  prompt: { kind: 'string' },
  response_format: { kind: 'string', values: ['json', 'text', 'verbose_json'] },
  temperature: { kind: 'number', min: 0, max: 1 },
}
const transcription: Rule = {
  kind: 'object',
  fields: {
    ...fields,
    language: { kind: 'string' },
    timestamp_granularities: { kind: 'array', items: { kind: 'string', values: ['word', 'segment'] } },
  },
  closed: true,
}
const translation: Rule = {
  kind: 'object',
  fields: { ...fields, language: { kind: 'string', values: ['en'] } },
  closed: true,
}

/**
 * Its base URL is `<origin>/openai/v1`. `models`: its names, the first one translates. `paid`: accepts 100 MB, else 25.
 */
export async function groqMedia(options: Options<string> & { paid?: boolean } = {}): Promise<MediaVendor> {
  const {
    models = ['whisper-large-v3', 'whisper-large-v3-turbo'],
    otherwise,
    key = 'gsk-loopback',
    keys = [],
  } = options
  const most = (options.paid ? 100 : 25) * 1_048_576
  const vendor = await serve({
    key,
    otherwise,
    answer: (call) => answer(call, models, [key, ...keys], most),
    failure: ({ status, type, code, message }) =>
      problem({ status, message: message ?? messageFor(status), ...errorOf(status, type, code) }),
    refusals,
    headers: () => ({ 'x-request-id': id('req_', 26), 'x-ratelimit-remaining-requests': '1999' }),
  })
  return mediaVendor(vendor, {})
}

function answer(call: Call, models: string[], keys: string[], most: number): Answer {
  const { method, path, request } = call
  const apiKey = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1]
  if (apiKey === undefined || !keys.includes(apiKey)) {
    return problem({ status: 401, message: 'Invalid API Key', code: 'invalid_api_key' })
  }
  call.key = apiKey
  if (method === 'GET' && path === '/openai/v1/models') {
    return { status: 200, body: { object: 'list', data: models.map((name) => entryOf({ id: name })) } }
  }
  const kind = /^\/openai\/v1\/audio\/(transcriptions|translations)$/.exec(path)?.[1]
  if (method !== 'POST' || kind === undefined) {
    const message = `Unknown request URL: ${method} ${path}. Please check the URL for typos, or see the docs.`
    return problem({ status: 404, message, code: 'unknown_url' })
  }
  if (request.body.length > most) {
    return problem({ status: 413, message: 'Request Entity Too Large', code: 'request_too_large' })
  }
  const rule = kind === 'transcriptions' ? transcription : translation
  const parts = partsOf(request)
  if (typeof parts === 'string') return problem({ status: 400, message: 'request body is not multipart/form-data' })
  const body = bodyOf(parts, rule)
  const fault = check(rule, body)
  if (fault) return problem(faultError(fault))
  const file: unknown = body['file']
  if (isUpload(file) === (body['url'] !== undefined)) {
    return problem({ status: 400, message: 'One of `file` or `url` must be provided.', param: 'file' })
  }
  const model: string = body['model']
  if (!models.includes(model) || (kind === 'translations' && model !== models[0])) {
    const message = `The model \`${model}\` does not exist or you do not have access to it.`
    return problem({ status: 404, message, code: 'model_not_found' })
  }
  const refusal = isUpload(file) ? unheard(file.filename, file.bytes) : undefined
  return refusal ? problem(refusal) : answerFor(call, body, isUpload(file) ? file.bytes : undefined)
}

function answerFor({ behaviour }: Call, body: Json, bytes: Buffer | undefined): Whole {
  const length = bytes ? {} : { seconds: 2 }
  const transcript = transcriptOf(bytes ?? Buffer.alloc(0), { ...length, ...behaviour.media })
  const x_groq = { id: id('req_', 26) }
  const format = body['response_format'] ?? 'json'
  if (format === 'text') return { status: 200, body: ` ${transcript.text}` }
  if (format === 'json') return { status: 200, body: { text: ` ${transcript.text}`, x_groq } }
  return { status: 200, body: { ...verbose(body, transcript), x_groq } }
}
