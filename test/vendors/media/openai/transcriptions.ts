// POST /v1/audio/transcriptions and /v1/audio/translations, also for servers of OpenAI's shape.
import type { Answer, Frame, Whole } from '../../delivery/deliver.ts'
import { id, tokens, weigh } from '../../delivery/plan.ts'
import { problem } from '../../openai/errors.ts'
import { brokenFrames } from '../../openai/openai.ts'
import { faultError, type OpenAIError } from '../../openai/rules.ts'
import { check, type Rule } from '../../rules.ts'
import type { Call } from '../../server.ts'
import type { Json } from '../../vendor.ts'
import { soundIn } from '../made/sound.ts'
import { srt, transcriptOf, vtt, wordsOf, type Transcript } from '../made/transcript.ts'
import { bodyOf, isUpload, partsOf } from '../multipart.ts'
import { unsupportedType } from './images.ts'
import type { HearingModel } from './models.ts'

const MAX_BYTES = 26_214_400

export function transcribe(call: Call, models: HearingModel[], rule: Rule): Answer {
  const { request, behaviour } = call
  if (request.body.length > MAX_BYTES) {
    const message = `413: Maximum content size limit (${MAX_BYTES}) exceeded (${request.body.length} bytes read)`
    const error = { message, type: 'server_error', param: null, code: null }
    return { status: 413, body: { error, usage: { type: 'duration', seconds: 0 } } }
  }
  const parts = partsOf(request)
  if (typeof parts === 'string') return unsupportedType(call)
  const body = bodyOf(parts, rule)
  const fault = check(rule, body)
  if (fault) return problem(faultError(fault))
  const file: unknown = body['file']
  if (!isUpload(file))
    return problem({ status: 400, message: "Invalid type for 'file': expected a file.", param: 'file' })
  const model = models.find((one) => one.id === body['model'])
  if (!model) {
    const message = `The model '${body['model']}' does not exist`
    return problem({ status: 404, message, param: 'model', code: 'model_not_found' })
  }
  const refusal = conflict(body, model) ?? unheard(file.filename, file.bytes)
  if (refusal) return problem(refusal)
  const transcript = transcriptOf(file.bytes, behaviour.media)
  const long = transcript.seconds > 30 && model.diarizes && body['chunking_strategy'] === undefined
  if (long) {
    const message = 'chunking_strategy is required for diarization models'
    return problem({ status: 400, message, param: 'chunking_strategy', code: 'missing_required_parameter' })
  }
  if (body['stream'] && model.tokens) return stream(call, body, model, transcript)
  return whole(call, body, model, transcript)
}

const extensions = /\.(flac|m4a|mp3|mp4|mpeg|mpga|oga|ogg|wav|webm)$/i

/** The file name must have a known extension, and the bytes must be audio. */
export function unheard(filename: string, bytes: Buffer): OpenAIError | undefined {
  if (!extensions.test(filename)) {
    const formats = "['flac', 'm4a', 'mp3', 'mp4', 'mpeg', 'mpga', 'oga', 'ogg', 'wav', 'webm']"
    return { status: 400, message: `Unrecognized file format. Supported formats: ${formats}` }
  }
  if (soundIn(bytes) !== undefined) return undefined
  const message = 'The audio file could not be decoded or its format is not supported.'
  return { status: 400, message, param: 'file', code: 'invalid_value' }
}

function conflict(body: Json, model: HearingModel): OpenAIError | undefined {
  const format = body['response_format'] ?? 'json'
  const wrong = (param: string, message: string): OpenAIError => ({
    status: 400,
    message,
    param,
    code: 'unsupported_value',
  })
  const formats = model.diarizes
    ? ['json', 'text', 'diarized_json']
    : model.tokens
      ? ['json']
      : ['json', 'text', 'srt', 'verbose_json', 'vtt']
  if (!formats.includes(format)) {
    const instead = formats.map((one) => `'${one}'`).join(' or ')
    return wrong(
      'response_format',
      `response_format '${format}' is not compatible with model '${model.id}'. Use ${instead} instead.`,
    )
  }
  if (body['timestamp_granularities'] && format !== 'verbose_json') {
    return wrong('timestamp_granularities', "timestamp_granularities needs response_format 'verbose_json'.")
  }
  if (body['include'] && (!model.tokens || model.diarizes || format !== 'json')) {
    return wrong('include', `include[] 'logprobs' is not supported with model '${model.id}'.`)
  }
  const diarizing = ['known_speaker_names', 'known_speaker_references'].find((name) => body[name] !== undefined)
  if (diarizing && !model.diarizes) return wrong(diarizing, `${diarizing} is not supported with model '${model.id}'.`)
  const plain = ['keywords', 'languages'].find((name) => body[name] !== undefined)
  if (plain) return wrong(plain, `${plain} is not supported with model '${model.id}'.`)
  return model.diarizes && body['prompt'] !== undefined
    ? wrong('prompt', 'prompt is not supported for diarization models')
    : undefined
}

function whole(call: Call, body: Json, model: HearingModel, transcript: Transcript): Whole {
  const format = body['response_format'] ?? 'json'
  const plain = (text: string, type = 'text/plain'): Whole => ({
    status: 200,
    body: text,
    headers: { 'content-type': `${type}; charset=utf-8` },
  })
  if (format === 'text') return plain(`${transcript.text}\n`)
  if (format === 'srt') return plain(srt(transcript))
  if (format === 'vtt') return plain(vtt(transcript), 'text/vtt')
  const usage = usageOf(call, body, model, transcript)
  if (format === 'diarized_json') {
    const segments = transcript.segments.map((one) => segmentOf(one, body))
    const transcriptFields = {
      task: 'transcribe',
      duration: transcript.seconds,
      text: transcript.text,
      segments,
      usage,
    }
    return { status: 200, body: transcriptFields }
  }
  if (format === 'verbose_json') return { status: 200, body: { ...verbose(body, transcript), usage } }
  const logprobs = body['include'] ? { logprobs: tokens(transcript.text).map(logprob) } : {}
  return { status: 200, body: { text: transcript.text, ...logprobs, usage } }
}

export function verbose(body: Json, transcript: Transcript): Json {
  const granularities: string[] = body['timestamp_granularities'] ?? ['segment']
  const segments = transcript.segments.map(({ start, end, text }, n) => ({
    id: n,
    seek: 0,
    start,
    end,
    text: ` ${text}`,
    tokens: [50_364 + n],
    temperature: body['temperature'] ?? 0,
    avg_logprob: -0.2,
    compression_ratio: 1.1,
    no_speech_prob: 0.01,
  }))
  return {
    task: 'transcribe',
    language: 'english',
    duration: transcript.seconds,
    text: transcript.text,
    ...(granularities.includes('segment') ? { segments } : {}),
    ...(granularities.includes('word') ? { words: wordsOf(transcript) } : {}),
  }
}

function segmentOf({ start, end, text, speaker }: Transcript['segments'][number], body: Json): Json {
  const names: string[] = body['known_speaker_names'] ?? []
  const name = names[speaker.charCodeAt(0) - 65] ?? speaker
  return { type: 'transcript.text.segment', id: `seg_${id('', 8)}`, start, end, text, speaker: name }
}

function logprob(token: string): Json {
  return { token, logprob: -0.01, bytes: [...Buffer.from(token)] }
}

function stream(call: Call, body: Json, model: HearingModel, transcript: Transcript): Answer {
  const frames: Frame[] = []
  const addFrame = (data: Json) => frames.push({ event: data['type'], data })
  const isDiarized = body['response_format'] === 'diarized_json'
  for (const segment of transcript.segments) {
    const segmentFields = segmentOf(segment, body)
    const idFields = model.diarizes ? { segment_id: segmentFields['id'] } : {}
    const deltas = tokens(segment === transcript.segments[0] ? segment.text : ` ${segment.text}`)
    for (const delta of deltas) {
      const logprobs = body['include'] ? { logprobs: [logprob(delta)] } : {}
      addFrame({ type: 'transcript.text.delta', delta, ...logprobs, ...idFields })
    }
    if (isDiarized) addFrame(segmentFields)
  }
  const logprobs = body['include'] ? { logprobs: tokens(transcript.text).map(logprob) } : {}
  addFrame({
    type: 'transcript.text.done',
    text: transcript.text,
    ...logprobs,
    usage: usageOf(call, body, model, transcript),
  })
  return { format: 'sse', frames, opening: 0, closing: 1, failure: brokenFrames }
}

/** Ten tokens per second of audio, which is a guess. */
function usageOf({ behaviour }: Call, body: Json, model: HearingModel, { seconds, text }: Transcript): Json {
  if (!model.tokens) return { type: 'duration', seconds: Math.ceil(seconds) }
  const prompt = weigh(body['prompt'])
  const input = behaviour.usage?.input ?? Math.ceil(seconds * 10) + prompt
  const output = behaviour.usage?.output ?? tokens(text).length
  return {
    type: 'tokens',
    input_tokens: input,
    input_token_details: { text_tokens: prompt, audio_tokens: input - prompt },
    output_tokens: output,
    total_tokens: input + output,
  }
}

export function translate(call: Call, models: HearingModel[], rule: Rule): Answer {
  const able = models.filter(({ tokens: byTokens }) => !byTokens)
  const answer = transcribe(call, able, rule)
  const json = 'body' in answer && answer.status === 200 && typeof answer.body === 'object'
  if (!json) return answer
  const { task: _, usage: __, ...rest } = answer.body as Json
  return { ...answer, body: 'duration' in rest ? { task: 'translate', ...rest } : rest }
}
