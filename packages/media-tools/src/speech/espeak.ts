import { stat } from 'node:fs/promises'
import { createTurns } from '#packages/fair-queue/turns.ts'
import type { Pcm } from '../facts.ts'
import { chain, readWaveHead } from '../convert/wave.ts'
import { ProgramFailed, type ProgramLimits, runProgram } from '../programs.ts'
import { type LocalVoice, type SpeakOptions, voiceFor } from './voice.ts'

/** `espeak-ng`, if installed on this machine. Its license (GPL-3.0) doesn't allow including it. */
export interface Espeak extends Disposable {
  voices(): Promise<readonly LocalVoice[]>
  /** Throws `NoSuchVoice`, `Busy`, `ProgramFailed`. */
  speak(text: string, options: SpeakOptions): Promise<Pcm>
}

const LIMITS: ProgramLimits = { timeMs: 600_000, memoryMb: 512 }
const TURNS = { atOnce: 4, each: 2, waitingEach: 30, waiting: 1_000 }
/** Voices by program path and modification time. Each process queries a program once. */
const voicesByVersion = new Map<string, Promise<readonly LocalVoice[]>>()
/** Words per minute: default and limits of the program (manual, `-s`). */
const [USUAL, SLOWEST, FASTEST] = [175, 80, 700]
export const SLOWEST_SPEED = SLOWEST / USUAL

export function createEspeak(program: string): Espeak {
  const turns = createTurns(TURNS)

  async function list(): Promise<readonly LocalVoice[]> {
    const output = await all(runProgram(program, ['--voices'], null, { ...LIMITS, timeMs: 10_000 }))
    const voices = readVoices(output.toString())
    if (voices.length === 0) throw new ProgramFailed('espeak-ng has no voices.')
    return voices
  }
  async function voices(): Promise<readonly LocalVoice[]> {
    const stats = await stat(program).catch(() => null)
    if (stats === null) throw new ProgramFailed('espeak-ng is no longer installed.')
    const version = `${program} ${stats.mtimeMs}`
    const listing = voicesByVersion.get(version) ?? list()
    voicesByVersion.set(version, listing)
    listing.catch(() => voicesByVersion.delete(version))
    return listing
  }

  async function* inTurn(
    text: string,
    args: string[],
    { account, signal }: SpeakOptions,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    using _turn = await turns.take(account, signal)
    yield* runProgram(program, args, Buffer.from(text), { ...LIMITS, signal })
  }

  return {
    voices,
    async speak(text, options) {
      const { name } = voiceFor('espeak-ng', await voices(), options)
      const rate = Math.min(FASTEST, Math.max(SLOWEST, Math.round(USUAL * options.speed)))
      const parts = inTurn(text, ['--stdout', '--stdin', '-b', '1', '-v', name, '-s', String(rate)], options)
      // The header claims about 2 GB, so only the sample offset and rate are used. A departed caller may never request
      // more: its turn and process end on abort.
      options.signal?.addEventListener('abort', () => void parts.return(undefined).catch(() => {}), { once: true })
      let head = Buffer.alloc(0)
      for (let next = await parts.next(); !next.done; next = await parts.next()) {
        head = Buffer.concat([head, next.value])
        const format = readWaveHead(head)
        if (format !== null) return { sampleRate: format.sampleRate, bytes: chain(head.subarray(format.start), parts) }
      }
      throw new ProgramFailed('espeak-ng returned no audio.')
    },
    [Symbol.dispose]: () => turns[Symbol.dispose](),
  }
}

/**
 * Parses `espeak-ng --voices`: priority, language, age and gender, name, file, other languages. Voices are named by
 * language, because `-v` may misinterpret names and files. English first, for text of unknown language.
 */
export function readVoices(table: string): LocalVoice[] {
  const rows = table
    .split('\n')
    .slice(1)
    .flatMap((line): LocalVoice[] => {
      const [, language, about, name] = line.trim().split(/\s+/)
      if (language === undefined || about === undefined || name === undefined) return []
      const gender = about.endsWith('M') ? 'male' : about.endsWith('F') ? 'female' : null
      const tag = tagOf(language)
      return tag === null ? [] : [{ name: language, title: name.replaceAll('_', ' '), languages: [tag], gender }]
    })
  const once = [...new Map(rows.map((row) => [row.name, row])).values()]
  const rank = ({ name }: LocalVoice): number => ['en-us', 'en-gb', 'en'].indexOf(name) + 1 || 9
  return once.toSorted((one, other) => rank(one) - rank(other))
}

/** Converts the program's tag to BCP 47: `en-us-nyc` and `en-gb-x-rp` contain unregistered variants. */
function tagOf(language: string): string | null {
  const parts = language.split('-')
  for (let length = parts.length; length > 0; length--)
    try {
      return Intl.getCanonicalLocales(parts.slice(0, length).join('-'))[0]!
    } catch {
      continue
    }
  return null
}

async function all(parts: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const part of parts) chunks.push(part)
  return Buffer.concat(chunks)
}
