/**
 * Speech models on computers (sherpa-onnx). The request over a computer's connection is `engine.call` in
 * `daemon-protocol/operations.ts`.
 */
import { FormatNotMade } from '#packages/media-tools/convert/converter.ts'
import { resample } from '#packages/media-tools/convert/samples.ts'
import { waveSamples } from '#packages/media-tools/convert/wave.ts'
import type { Pcm } from '#packages/media-tools/facts.ts'
import type { Media } from '#packages/media-tools/media.ts'
import { ProgramFailed } from '#packages/media-tools/programs.ts'
import { refuse } from '#core/errors.ts'
import { listOf, objectOf } from '../../model/json.ts'
import { wellFormedJson } from '../../model/well-formed.ts'
import type { MediaAdapter, MediaInput, MediaWire, TranscriptSpan } from '../adapter.ts'
import { SHORT_BYTES, badAnswer, jsonOf } from '../answers.ts'
import { baseLanguage, lossesIn } from '../request-fields.ts'
import { languageTag } from '../transcript/transcripts.ts'
import { type Piece, piecesOf } from './pieces.ts'

const SAMPLE_RATE = 16_000
/** The time limit of one piece: a slow machine may have to load its model first. */
const PIECE_MS = 300_000

/** `account`: whose queue slots are used for decoding on this machine. */
export const computerSpeech = ({ converter }: Pick<Media, 'converter'>, account: string): MediaAdapter => ({
  transcription: {
    how: 'immediate',
    async run(wire, request) {
      const segments: TranscriptSpan[] = []
      const words: TranscriptSpan[] = []
      let hasTimestamps = false
      let seconds = 0
      let { language } = request
      for await (const piece of piecesOf(await samplesOf(converter, request.sound, account, wire.signal))) {
        const transcript = await recognize(wire, piece, baseLanguage(language) ?? null)
        seconds = piece.startSeconds + piece.seconds
        language ??= transcript.language
        if (transcript.words !== null) hasTimestamps = true
        words.push(...(transcript.words ?? []))
        if (transcript.text === '') continue
        const [first, last] = [transcript.words?.[0], transcript.words?.at(-1)]
        const startSeconds = first?.startSeconds ?? piece.startSeconds
        segments.push({ startSeconds, endSeconds: last?.endSeconds ?? seconds, text: transcript.text, speaker: null })
      }
      const wantsWords = request.timestamps === 'word'
      return {
        kind: 'transcript',
        transcript: {
          text: segments.map(({ text }) => text).join(' '),
          language,
          durationSeconds: seconds,
          segments,
          words: wantsWords && hasTimestamps ? words : null,
        },
        units: { audioSeconds: seconds },
        losses: [
          ...lossesIn(request, 'prompt', 'speakers'),
          ...(wantsWords && !hasTimestamps && segments.length > 0 ? ['timestamps'] : []),
        ],
      }
    },
  },
})

async function recognize(wire: MediaWire, { samples, startSeconds }: Piece, language: string | null) {
  const body = { sample_rate: SAMPLE_RATE, samples: samples.toString('base64'), language }
  const answer = await wire.ask({
    method: 'POST',
    path: '/audio/transcriptions',
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(wellFormedJson(body)),
    mostBytes: SHORT_BYTES,
    withinMs: PIECE_MS,
  })
  const transcript = await jsonOf(answer)
  if (typeof transcript['text'] !== 'string') throw badAnswer('The computer returned no text.')
  const seconds = (value: unknown): number => startSeconds + (typeof value === 'number' ? value : 0)
  return {
    text: transcript['text'].trim(),
    language: languageTag(transcript['language']),
    words: Array.isArray(transcript['words'])
      ? listOf(transcript['words'])
          .map(objectOf)
          .map(({ word, start, end }): TranscriptSpan => ({
            startSeconds: seconds(start),
            endSeconds: seconds(end),
            text: typeof word === 'string' ? word : '',
            speaker: null,
          }))
      : null,
  }
}

async function samplesOf(
  converter: Media['converter'],
  sound: MediaInput,
  account: string,
  signal: AbortSignal,
): Promise<Pcm> {
  const wave = await waveSamples(sound.read())
  if ('sampleRate' in wave) return resample(wave, SAMPLE_RATE)
  try {
    return explainFailures(converter.toPcm(wave.bytes, SAMPLE_RATE, { account, signal }))
  } catch (error) {
    if (error instanceof FormatNotMade) return refuse('not_supported', { param: 'audio', message: error.message })
    throw error
  }
}

function explainFailures({ sampleRate, bytes }: Pcm): Pcm {
  return {
    sampleRate,
    bytes: (async function* () {
      try {
        yield* bytes
      } catch (error) {
        if (!(error instanceof ProgramFailed)) throw error
        refuse('invalid_parameter', { param: 'audio', message: `The audio can’t be read: ${error.message}` })
      }
    })(),
  }
}
