import { isWord, type Json, listOf, objectOf } from '../../model/json.ts'
import { MAKING_MS, SHORT_BYTES, SOUND_BYTES, badAnswer, jsonOf, soundOf } from '../answers.ts'
import type {
  Immediate,
  MediaAdapter,
  SoundFormat,
  SpeechRequest,
  TranscriptSpan,
  TranscriptionRequest,
} from '../adapter.ts'
import { formBody, jsonBody } from '../request-body.ts'
import { baseLanguage, charactersOf, formOptions, lossesIn, withOptions } from '../request-fields.ts'
import { languageTag, segmentsOf } from '../transcript/transcripts.ts'
import { nameSegment } from './named-path.ts'

/** The default voice, Rachel: `@ai-sdk/elevenlabs` 3.0.46, elevenlabs-speech-model.ts. */
const VOICE = '21m00Tcm4TlvDq8ikWAM'
const PCM_RATE = 24_000
/**
 * ElevenLabs' formats, in its terms: `@ai-sdk/elevenlabs` 3.0.46; Opus: elevenlabs.io, API reference. Other formats are
 * converted from PCM.
 */
const formats: Partial<Record<SoundFormat, string>> = { mp3: 'mp3_44100_128', opus: 'opus_48000_128' }

/** Query parameters; the rest of `provider_options` belongs in the body. */
const inQuery: ReadonlySet<string> = new Set(['enable_logging', 'optimize_streaming_latency'])

const speech: Immediate<SpeechRequest> = {
  how: 'immediate',
  async run(wire, request) {
    const { model, input, voice, speed, language, providerOptions } = request
    const format = formats[request.format] === undefined ? 'pcm' : request.format
    const query = new URLSearchParams({ output_format: formats[format] ?? `pcm_${PCM_RATE}` })
    const options: Json = {}
    for (const [name, value] of Object.entries(providerOptions)) {
      if (inQuery.has(name)) query.set(name, String(value))
      else if (name !== 'output_format') options[name] = value
    }
    const answer = await wire.ask({
      method: 'POST',
      path: `/text-to-speech/${nameSegment('voice', voice ?? VOICE)}/stream?${query.toString()}`,
      ...jsonBody(() =>
        withOptions(options, {
          text: input,
          model_id: model,
          language_code: baseLanguage(language),
          voice_settings: speed === null ? null : { speed },
        }),
      ),
      mostBytes: SOUND_BYTES,
      withinMs: MAKING_MS,
    })
    return {
      kind: 'sound',
      sound: soundOf(answer, { format, pcmRate: PCM_RATE, characters: charactersOf(input) }),
      losses: lossesIn(request, 'instructions'),
    }
  },
}

const transcription: Immediate<TranscriptionRequest> = {
  how: 'immediate',
  async run(wire, request) {
    const { model, sound, language, timestamps, speakers, providerOptions } = request
    const fields = [
      ['model_id', model],
      ['language_code', baseLanguage(language)],
      ['diarize', speakers],
      ['timestamps_granularity', timestamps === 'none' && !speakers ? 'none' : 'word'],
      ['tag_audio_events', providerOptions['tag_audio_events'] === undefined ? false : null],
    ] as const
    const ours = [...fields.map(([name]) => name), 'file', 'webhook'].filter((name) => name !== 'tag_audio_events')
    const answer = await wire.ask({
      method: 'POST',
      path: '/speech-to-text',
      ...formBody([...fields, ...formOptions(providerOptions, ours), ['file', sound]]),
      mostBytes: 16 * SHORT_BYTES,
      withinMs: MAKING_MS,
    })
    const transcript = await jsonOf(answer)
    if (typeof transcript['text'] !== 'string') throw badAnswer('The provider returned no text.')
    const words = wordsIn(transcript)
    return {
      kind: 'transcript',
      transcript: {
        text: transcript['text'],
        language: languageTag(transcript['language_code']) ?? language,
        // It reports no length, and its last word may end long before the recording does.
        durationSeconds: null,
        segments: segmentsOf(words),
        words: timestamps === 'word' ? words : null,
      },
      units: {},
      losses: lossesIn(request, 'prompt'),
    }
  },
}

function wordsIn(transcript: Json): TranscriptSpan[] {
  return listOf(transcript['words'])
    .map(objectOf)
    .filter(({ type }) => type === undefined || type === 'word')
    .map(({ text, start, end, speaker_id: speaker }) => ({
      startSeconds: typeof start === 'number' ? start : 0,
      endSeconds: typeof end === 'number' ? end : 0,
      text: typeof text === 'string' ? text : '',
      speaker: isWord(speaker) ? speaker : null,
    }))
}

export const elevenlabs: MediaAdapter = { speech, transcription }
