import { isWord, objectOf, parseJson } from '../../../model/json.ts'
import type { SpeechQuirks } from '../../../providers/media-quirks.ts'
import { readStreamFault } from '../../../wire/faults/faults.ts'
import { SseReader } from '../../../wire/streams/sse.ts'
import { MAKING_MS, SOUND_BYTES, badAnswer } from '../../answers.ts'
import type { Immediate, MadeSound, MediaUnits, SoundFormat, SpeechRequest, WireAnswer } from '../../adapter.ts'
import { jsonBody } from '../../request-body.ts'
import { charactersOf, lossesIn, withOptions } from '../../request-fields.ts'
import { tokensIn } from './usage.ts'

/** `voice` is required: OpenAI's API description 2.3.0, whose examples start with this one. */
const VOICE = 'alloy'
/** The sample rate of `pcm`: platform.openai.com, text to speech. */
const PCM_RATE = 24_000
/**
 * Models that report usage, in events; `tts-1` and `tts-1-hd` don't (OpenAI's API description 2.3.0, `stream_format`).
 */
const tells = /^gpt-.*tts/

export const openaiSpeech = ({ formats, voice = VOICE }: SpeechQuirks): Immediate<SpeechRequest> => ({
  how: 'immediate',
  async run(wire, request) {
    const { model, input, speed, instructions, providerOptions } = request
    const format = formats === undefined || formats.includes(request.format) ? request.format : formats[0]!
    const events = tells.test(model)
    const answer = await wire.ask({
      method: 'POST',
      path: '/audio/speech',
      ...jsonBody(() => {
        const { stream_format: _, ...options } = providerOptions
        return withOptions(options, {
          model,
          input,
          voice: request.voice ?? voice,
          response_format: format,
          speed,
          instructions: older.test(model) ? null : instructions,
          stream_format: events ? 'sse' : null,
        })
      }),
      mostBytes: SOUND_BYTES,
      withinMs: MAKING_MS,
    })
    const losses = [...lossesIn(request, 'language'), ...(older.test(model) ? lossesIn(request, 'instructions') : [])]
    return { kind: 'sound', sound: soundOf(answer, format, charactersOf(input)), losses }
  },
})

/** `instructions` have no effect for these: OpenAI's API description 2.3.0. */
const older = /^tts-1/

function soundOf(answer: WireAnswer, format: SoundFormat, characters: number): MadeSound {
  const units: MediaUnits = { characters }
  const isEvents = answer.headers['content-type']?.startsWith('text/event-stream') === true
  return {
    format,
    sampleRate: format === 'pcm' ? PCM_RATE : null,
    bytes: isEvents ? inEvents(answer, units) : answer.body,
    units: () => units,
  }
}

async function* inEvents({ body }: WireAnswer, units: MediaUnits): AsyncGenerator<Uint8Array> {
  const reader = new SseReader()
  let isDone = false
  const soundIn = function* (data: string): Generator<Buffer> {
    const event = objectOf(parseJson(data))
    if (event['error'] !== undefined) throw badAnswer(readStreamFault(event['error']).message)
    if (event['type'] === 'speech.audio.delta' && isWord(event['audio'])) yield Buffer.from(event['audio'], 'base64')
    if (event['type'] !== 'speech.audio.done') return
    isDone = true
    Object.assign(units, tokensIn(event['usage']))
  }
  for await (const bytes of body) for (const { data } of reader.feed(bytes)) yield* soundIn(data)
  for (const { data } of reader.end()) yield* soundIn(data)
  if (!isDone) throw badAnswer('The provider’s audio ended early.')
}
