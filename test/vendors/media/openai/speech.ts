// POST /v1/audio/speech: bytes while they are generated, or events.
import type { Answer, Frame } from '../../delivery/deliver.ts'
import { parse, weigh } from '../../delivery/plan.ts'
import { problem } from '../../openai/errors.ts'
import { brokenFrames } from '../../openai/openai.ts'
import { faultError } from '../../openai/rules.ts'
import { check } from '../../rules.ts'
import type { Call } from '../../server.ts'
import { wholeOf, spoil } from '../made/file.ts'
import { sound, type SoundFormat } from '../made/sound.ts'
import { isJson, unsupportedType } from './images.ts'
import { voices, type SpeakingModel } from './models.ts'
import { speech } from './rules.ts'

const CHARACTERS_A_SECOND = 15
const PIECE_BYTES = 4_096

export function speak(call: Call, models: SpeakingModel[]): Answer {
  if (!isJson(call)) return unsupportedType(call)
  const body = parse(call.request.body)
  if (!body) return problem({ status: 400, message: 'We could not parse the JSON body of your request.' })
  const fault = check(speech, body)
  if (fault) return problem(faultError(fault))
  const model = models.find(({ id }) => id === body['model'])
  if (!model) {
    const message = `The model '${body['model']}' does not exist`
    return problem({ status: 404, message, param: 'model', code: 'model_not_found' })
  }
  if (typeof body['voice'] === 'string' && !voices.includes(body['voice'])) {
    const message = `Invalid value: '${body['voice']}'. Supported values are: ${voices.map((one) => `'${one}'`).join(', ')}.`
    return problem({ status: 400, message, param: 'voice', code: 'invalid_value' })
  }
  const events = body['stream_format'] === 'sse'
  if (events && !model.streams) {
    const message = `Invalid value: 'sse'. stream_format 'sse' is not supported with the model '${model.id}'.`
    return problem({ status: 400, message, param: 'stream_format', code: 'unsupported_value' })
  }
  const making = call.behaviour.media ?? {}
  const seconds = making.seconds ?? [...body['input']].length / CHARACTERS_A_SECOND / (body['speed'] ?? 1)
  const file = spoil(sound(seconds, (body['response_format'] ?? 'mp3') as SoundFormat), making.spoiled)
  if (!events) return wholeOf(file, PIECE_BYTES)

  const type = 'speech.audio.delta'
  const frames: Frame[] = Array.from({ length: Math.ceil(file.bytes.length / PIECE_BYTES) }, (_, n) => {
    const piece = file.bytes.subarray(n * PIECE_BYTES, (n + 1) * PIECE_BYTES)
    return { data: { type, audio: piece.toString('base64') } }
  })
  const input = call.behaviour.usage?.input ?? weigh(body['input'])
  const output = call.behaviour.usage?.output ?? Math.ceil(seconds * 20)
  const usage = { input_tokens: input, output_tokens: output, total_tokens: input + output }
  frames.push({ data: { type: 'speech.audio.done', usage } })
  return { format: 'sse', frames, opening: 0, closing: 1, failure: brokenFrames }
}
