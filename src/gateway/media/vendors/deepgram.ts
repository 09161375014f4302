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
import { jsonBody } from '../request-body.ts'
import { baseLanguage, charactersOf, lossesIn } from '../request-fields.ts'
import { languageTag, segmentsOf } from '../transcript/transcripts.ts'

const PCM_RATE = 24_000
/**
 * Deepgram's formats, in its terms: `@ai-sdk/deepgram` 3.1.16, deepgram-speech-model.ts; developers.deepgram.com, audio
 * format combinations.
 */
const formats: Readonly<Record<SoundFormat, Readonly<Record<string, string>>>> = {
  mp3: { encoding: 'mp3' },
  wav: { encoding: 'linear16', container: 'wav' },
  opus: { encoding: 'opus', container: 'ogg' },
  aac: { encoding: 'aac' },
  flac: { encoding: 'flac' },
  pcm: { encoding: 'linear16', container: 'none', sample_rate: String(PCM_RATE) },
}

/**
 * Model families whose voices are separate models, such as `aura-2-thalia-en`: `@ai-sdk/deepgram` 3.1.16,
 * deepgram-speech-options.ts.
 */
const family = /^aura(?:-2)?$/
const VOICES: Readonly<Record<string, string>> = { aura: 'asteria', 'aura-2': 'thalia' }

function speakingModel({ model, voice, language }: SpeechRequest): string {
  if (voice?.startsWith('aura') === true) return voice
  if (!family.test(model)) return model
  return `${model}-${voice ?? VOICES[model]!}-${baseLanguage(language) ?? 'en'}`
}

const speech: Immediate<SpeechRequest> = {
  how: 'immediate',
  async run(wire, request) {
    const { input, format, model, voice, providerOptions } = request
    const query = queryOf(providerOptions, { model: speakingModel(request), ...formats[format] })
    const answer = await wire.ask({
      method: 'POST',
      path: `/speak?${query.toString()}`,
      ...jsonBody(() => ({ text: input })),
      mostBytes: SOUND_BYTES,
      withinMs: MAKING_MS,
    })
    const isOwn = !family.test(model)
    return {
      kind: 'sound',
      sound: soundOf(answer, { format, pcmRate: PCM_RATE, characters: charactersOf(input) }),
      losses: [
        ...lossesIn(request, 'speed', 'instructions'),
        ...(isOwn && voice !== null && !voice.startsWith('aura') ? ['voice'] : []),
        ...(isOwn ? lossesIn(request, 'language') : []),
      ],
    }
  },
}

/** The audio itself is the body, sent while it is read. */
const transcription: Immediate<TranscriptionRequest> = {
  how: 'immediate',
  async run(wire, request) {
    const { model, sound, language, timestamps, speakers, providerOptions } = request
    const query = queryOf(providerOptions, {
      model,
      smart_format: 'true',
      utterances: 'true',
      ...(speakers && { diarize: 'true' }),
      ...(language === null ? { detect_language: 'true' } : { language }),
    })
    const answer = await wire.ask({
      method: 'POST',
      path: `/listen?${query.toString()}`,
      headers: { 'content-type': sound.type },
      body: { bytes: sound.read(), length: sound.sizeBytes },
      mostBytes: 16 * SHORT_BYTES,
      withinMs: MAKING_MS,
    })
    const { results, metadata } = await jsonOf(answer)
    const channel = objectOf(listOf(objectOf(results)['channels'])[0])
    const best = objectOf(listOf(channel['alternatives'])[0])
    const text = best['transcript']
    if (typeof text !== 'string') throw badAnswer('The provider returned no transcript.')
    const words = listOf(best['words']).map((row) => segmentOf(objectOf(row)))
    const utterances = listOf(objectOf(results)['utterances']).map((row) => segmentOf(objectOf(row)))
    const { duration } = objectOf(metadata)
    const durationSeconds = typeof duration === 'number' ? duration : null
    return {
      kind: 'transcript',
      transcript: {
        text,
        language: languageTag(channel['detected_language']) ?? language,
        durationSeconds,
        segments: utterances.length > 0 ? utterances : segmentsOf(words),
        words: timestamps === 'word' ? words : null,
      },
      units: {},
      losses: lossesIn(request, 'prompt'),
    }
  },
}

/** Speakers are numbered from 0. */
const segmentOf = ({ start, end, speaker, transcript, punctuated_word: punctuated, word }: Json): TranscriptSpan => ({
  startSeconds: typeof start === 'number' ? start : 0,
  endSeconds: typeof end === 'number' ? end : 0,
  text: [transcript, punctuated, word].find(isWord) ?? '',
  speaker: typeof speaker === 'number' ? `speaker_${speaker}` : null,
})

/** `provider_options` are query parameters. `callback` would send the answer elsewhere. */
function queryOf(options: Readonly<Json>, ours: Readonly<Record<string, string>>): URLSearchParams {
  const query = new URLSearchParams(ours)
  for (const [name, value] of Object.entries(options)) {
    if (value === null || value === undefined || Object.hasOwn(ours, name) || name.startsWith('callback')) continue
    for (const one of Array.isArray(value) ? value : [value]) query.append(name, String(one))
  }
  return query
}

export const deepgram: MediaAdapter = { speech, transcription }
