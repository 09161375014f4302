/** Models of speech on computers (sherpa-onnx): what is asked over a computer's link stands at `engine.call` in `daemon-protocol/operations.ts`. */
import { FormatNotMade } from '#infra/media/convert/converter.ts'
import { resample } from '#infra/media/convert/samples.ts'
import { waveSamples } from '#infra/media/convert/wave.ts'
import type { Pcm } from '#infra/media/facts.ts'
import type { Media } from '#infra/media/media.ts'
import { ProgramFailed } from '#infra/media/programs.ts'
import { refuse } from '#core/errors.ts'
import { listOf, objectOf } from '../../model/json.ts'
import { wellFormedJson } from '../../model/well-formed.ts'
import type { MediaAdapter, MediaInput, MediaWire, Spoken } from '../adapter.ts'
import { SHORT_BYTES, badAnswer, jsonOf } from '../answers.ts'
import { baseLanguage, lossesIn } from '../request-fields.ts'
import { languageTag } from '../transcript/transcripts.ts'
import { type Piece, piecesOf } from './pieces.ts'

const SAMPLE_RATE = 16_000
/** The time limit of one piece: a slow machine may still have to load its model. */
const PIECE_MS = 300_000

/** `account`: whose turns it takes on this machine, where the sound is read. */
export const computerSpeech = ({ converter }: Pick<Media, 'converter'>, account: string): MediaAdapter => ({
  transcription: {
    how: 'immediate',
    async run(wire, request) {
      const segments: Spoken[] = []
      const words: Spoken[] = []
      let timed = false
      let seconds = 0
      let { language } = request
      for await (const piece of piecesOf(await samplesOf(converter, request.sound, account, wire.signal))) {
        const said = await recognized(wire, piece, baseLanguage(language) ?? null)
        seconds = piece.startSeconds + piece.seconds
        language ??= said.language
        if (said.words !== null) timed = true
        words.push(...(said.words ?? []))
        if (said.text === '') continue
        const [first, last] = [said.words?.[0], said.words?.at(-1)]
        const startSeconds = first?.startSeconds ?? piece.startSeconds
        segments.push({ startSeconds, endSeconds: last?.endSeconds ?? seconds, text: said.text, speaker: null })
      }
      const wantsWords = request.timestamps === 'word'
      return {
        kind: 'transcript',
        transcript: {
          text: segments.map(({ text }) => text).join(' '),
          language,
          durationSeconds: seconds,
          segments,
          words: wantsWords && timed ? words : null,
        },
        units: { audioSeconds: seconds },
        losses: [
          ...lossesIn(request, 'prompt', 'speakers'),
          ...(wantsWords && !timed && segments.length > 0 ? ['timestamps'] : []),
        ],
      }
    },
  },
})

async function recognized(wire: MediaWire, { samples, startSeconds }: Piece, language: string | null) {
  const asked = { sample_rate: SAMPLE_RATE, samples: samples.toString('base64'), language }
  const answer = await wire.ask({
    method: 'POST',
    path: '/audio/transcriptions',
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(wellFormedJson(asked)),
    mostBytes: SHORT_BYTES,
    withinMs: PIECE_MS,
  })
  const said = await jsonOf(answer)
  if (typeof said['text'] !== 'string') throw badAnswer('The computer returned no text.')
  const seconds = (value: unknown): number => startSeconds + (typeof value === 'number' ? value : 0)
  return {
    text: said['text'].trim(),
    language: languageTag(said['language']),
    words: Array.isArray(said['words'])
      ? listOf(said['words'])
          .map(objectOf)
          .map(({ word, start, end }): Spoken => ({
            startSeconds: seconds(start),
            endSeconds: seconds(end),
            text: typeof word === 'string' ? word : '',
            speaker: null,
          }))
      : null,
  }
}

/** The samples of a sound, at the rate that models of speech read. Plain WAV is read here, all else by ffmpeg. */
async function samplesOf(
  converter: Media['converter'],
  sound: MediaInput,
  account: string,
  signal: AbortSignal,
): Promise<Pcm> {
  const read = await waveSamples(sound.read())
  if ('sampleRate' in read) return resample(read, SAMPLE_RATE)
  try {
    return told(converter.toPcm(read.bytes, SAMPLE_RATE, { account, signal }))
  } catch (error) {
    if (error instanceof FormatNotMade) return refuse('not_supported', { param: 'audio', message: error.message })
    throw error
  }
}

function told({ sampleRate, bytes }: Pcm): Pcm {
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
