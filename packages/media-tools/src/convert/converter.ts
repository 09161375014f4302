import { createTurns } from '#packages/fair-queue/turns.ts'
import type { Pcm, SoundFormat } from '../facts.ts'
import { type ProgramLimits, runProgram } from '../programs.ts'
import { stageFile } from '../staged-file.ts'
import { createEncoders } from './encoders.ts'
import { waveHead } from './wave.ts'

/** This machine can't produce the format. The message says what to install. */
export class FormatNotMade extends Error {
  override name = 'FormatNotMade'
}

export interface ConvertOptions {
  account: string
  signal?: AbortSignal | undefined
  comment?: string
}

/** Converts audio. MP3, Opus, WAV, and raw samples are built in; other formats need `ffmpeg`. */
export interface Converter extends AsyncDisposable {
  readonly formats: readonly SoundFormat[]
  /**
   * Yields a file in parts as they are ready; `wav` and `flac` come at the end, because their header contains the
   * length. Throws `FormatNotMade`.
   */
  fromPcm(pcm: Pcm, format: SoundFormat, options: ConvertOptions): AsyncIterable<Uint8Array>
  /** Decodes any file ffmpeg can read to raw samples. Throws `FormatNotMade` if ffmpeg is missing, `ProgramFailed`. */
  toPcm(file: AsyncIterable<Uint8Array>, sampleRate: number, options: ConvertOptions): Pcm
}

const TURNS = { atOnce: 4, each: 2, waitingEach: 30, waiting: 1_000 }
const LIMITS: ProgramLimits = { timeMs: 600_000, memoryMb: 2_048 }
/** Maximum sound on disk while its length is unknown: 12 hours at 24 kHz. */
const MAX_BYTES = 2_000_000_000
/** ffmpeg gets no terminal and no protocols except its own pipes and files. */
const QUIET = ['-nostdin', '-hide_banner', '-loglevel', 'error', '-protocol_whitelist', 'file,pipe', '-threads', '1']

/** Self-contained formats: a playlist could make ffmpeg read other files. */
const INPUT_FORMATS = 'mp3,wav,ogg,flac,aac,mov,matroska,mpegts'

interface ConverterOptions {
  folder: string
  ffmpeg: string | null
  tooLarge?: ((mostMebibytes: number) => Error) | undefined
}

export function createConverter({ folder, ffmpeg, tooLarge }: ConverterOptions): Converter {
  const encoders = createEncoders()
  const turns = createTurns(TURNS)

  async function* program(
    args: string[],
    input: AsyncIterable<Uint8Array> | null,
    { account, signal }: ConvertOptions,
  ) {
    using _turn = await turns.take(account, signal)
    yield* runProgram(ffmpeg!, args, input, { ...LIMITS, signal })
  }

  async function* wave({ sampleRate, bytes }: Pcm, { signal }: ConvertOptions): AsyncGenerator<Uint8Array> {
    await using file = await stageFile(folder, bytes, { mostBytes: MAX_BYTES, tooLarge, ...(signal && { signal }) })
    yield waveHead(sampleRate, file.sizeBytes)
    yield* file.read()
  }

  /** Decodes through a file, because some formats have their index at the end. */
  async function* samples(sound: AsyncIterable<Uint8Array>, output: string[], options: ConvertOptions) {
    const { signal } = options
    await using file = await stageFile(folder, sound, { mostBytes: MAX_BYTES, tooLarge, ...(signal && { signal }) })
    yield* program([...QUIET, '-format_whitelist', INPUT_FORMATS, '-i', `file:${file.path}`, ...output], null, options)
  }

  return {
    formats: ffmpeg === null ? ['pcm', 'wav', 'mp3', 'opus'] : ['pcm', 'wav', 'mp3', 'opus', 'aac', 'flac'],
    fromPcm(pcm, format, options) {
      switch (format) {
        case 'pcm':
          return pcm.bytes
        case 'wav':
          return wave(pcm, options)
        case 'mp3':
        case 'opus':
          return encoders.encode(pcm, format, options.comment, options.signal)
        case 'aac':
        case 'flac': {
          if (ffmpeg === null)
            throw new FormatNotMade(
              `\`ffmpeg\` is required for audio in the format ${format}, and it isn’t installed on the server. Install it (on Debian: apt-get install ffmpeg), or use mp3, opus, wav or pcm.`,
            )
          const input = ['-f', 's16le', '-ar', String(pcm.sampleRate), '-ac', '1', '-i', 'pipe:0']
          const comment = options.comment === undefined ? [] : ['-metadata', `comment=${options.comment}`]
          const output =
            format === 'aac' ? ['-c:a', 'aac', '-b:a', '64k', '-f', 'adts'] : ['-c:a', 'flac', '-f', 'flac']
          return program([...QUIET, ...input, ...comment, ...output, 'pipe:1'], pcm.bytes, options)
        }
      }
    },
    toPcm(file, sampleRate, options) {
      if (ffmpeg === null)
        throw new FormatNotMade(
          '`ffmpeg` is required to read audio in this format, and it isn’t installed on the server. Install it (on Debian: apt-get install ffmpeg).',
        )
      const output = ['-vn', '-f', 's16le', '-ar', String(sampleRate), '-ac', '1', 'pipe:1']
      return { sampleRate, bytes: samples(file, output, options) }
    },
    async [Symbol.asyncDispose]() {
      turns[Symbol.dispose]()
      await encoders[Symbol.asyncDispose]()
    },
  }
}
