// Kokoro-FastAPI on loopback: speech in OpenAI's shape, a list of voices, mixes of them. It takes no key.
//
// Sources: Kokoro-FastAPI, api/src/structures/schemas.py and routers/openai_compatible.py: unknown fields are ignored.
//
// Unknown, so only guessed: the list in the error about an unknown voice.
import type { Answer, Whole } from '../../delivery/deliver.ts'
import { parse } from '../../delivery/plan.ts'
import { check, type Rule } from '../../rules.ts'
import { serve, type Call } from '../../server.ts'
import type { Behaviour } from '../../vendor.ts'
import { mediaVendor, type MediaVendor } from '../jobs/jobs.ts'
import { wholeOf, spoil } from '../made/file.ts'
import { sound, type SoundFormat } from '../made/sound.ts'

const models = ['tts-1', 'tts-1-hd', 'kokoro', 'gpt-4o-mini-tts']
const PIECE_BYTES = 4_096

export type KokoroOptions = { voices?: string[]; otherwise?: Behaviour }

/** Its base URL is `<origin>/v1`. */
export async function kokoroMedia(options: KokoroOptions = {}): Promise<MediaVendor> {
  const { voices = ['af_heart', 'af_bella', 'af_sky', 'am_adam', 'bf_emma', 'jf_alpha'], otherwise } = options
  const vendor = await serve({
    key: '',
    otherwise,
    answer: (call) => answer(call, voices),
    failure: ({ status, message }) => problem(status, 'server_error', message ?? 'Failed', 'server_error'),
    headers: () => ({ server: 'uvicorn' }),
  })
  return mediaVendor(vendor, {})
}

function problem(status: number, error: string, message: string, type = 'invalid_request_error'): Whole {
  return { status, body: { detail: { error, message, type } } }
}

const formats = ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm']
const speech: Rule = {
  kind: 'object',
  fields: {
    model: { kind: 'string' },
    input: { kind: 'string', required: true },
    voice: { kind: 'string' },
    response_format: { kind: 'string', values: formats },
    speed: { kind: 'number', min: 0.25, max: 4 },
    stream: { kind: 'boolean' },
    lang_code: { kind: 'string', nullable: true },
    volume_multiplier: { kind: 'number', nullable: true },
  },
}

function answer({ method, path, request, behaviour }: Call, voices: string[]): Answer {
  if (method === 'GET' && path === '/v1/models') {
    const data = models.map((id) => ({ id, object: 'model', created: 1_686_935_002, owned_by: 'kokoro' }))
    return { status: 200, body: { object: 'list', data } }
  }
  if (method === 'GET' && path === '/v1/audio/voices') {
    const legacy = request.query.get('legacy') === 'true'
    return { status: 200, body: { voices: legacy ? voices : voices.map((id) => ({ id, name: id })) } }
  }
  if (method !== 'POST' || path !== '/v1/audio/speech') return { status: 404, body: { detail: 'Not Found' } }
  const body = parse(request.body)
  const fault = check({ ...speech, required: true }, body)
  if (!body || fault) {
    const loc = ['body', ...(fault?.path ?? [])]
    return {
      status: 422,
      body: { detail: [{ type: fault?.kind ?? 'json_invalid', loc, msg: 'Invalid', input: body }] },
    }
  }
  const { model = 'kokoro', voice = 'af_heart', response_format: format = 'mp3', stream = true, speed = 1 } = body
  if (!models.includes(model)) return problem(400, 'invalid_model', `Unsupported model: ${model}`)
  const unknown = String(voice)
    .split(/[+-]/)
    .map((one) => one.replace(/\(.*\)/, '').trim())
    .find((one) => !voices.includes(one))
  if (unknown !== undefined) {
    const message = `Voice '${unknown}' not found. Available voices: ${voices.join(', ')}`
    return problem(400, 'validation_error', message)
  }
  const seconds = behaviour.media?.seconds ?? [...body['input']].length / 15 / speed
  const file = spoil(sound(seconds, format as SoundFormat), behaviour.media?.spoiled)
  return wholeOf(file, stream ? PIECE_BYTES : undefined)
}
