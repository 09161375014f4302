import { type Converter, createConverter } from './convert/converter.ts'
import { type MediaProbe, createMediaProbe } from './probe/probe.ts'
import { findProgram } from './programs.ts'
import { type LocalSpeech, createLocalSpeech } from './speech/local-speech.ts'
import { type StagedFile, removeLeftFiles, stageFile } from './staged-file.ts'

export interface Media extends AsyncDisposable {
  probe: MediaProbe
  converter: Converter
  speech: LocalSpeech
  stage(bytes: AsyncIterable<Uint8Array>, options: { mostBytes: number; signal?: AbortSignal }): Promise<StagedFile>
}

interface MediaOptions {
  /** For temporary files. */
  folder: string
  /** The error for a file with more than this many MiB. */
  tooLarge?: (mostMebibytes: number) => Error
}

/** Programs are detected once; later installations need a restart. */
export async function createMedia({ folder, tooLarge }: MediaOptions): Promise<Media> {
  const [ffmpeg, espeak] = await Promise.all([findProgram('ffmpeg'), findProgram('espeak-ng'), removeLeftFiles(folder)])
  const probe = createMediaProbe()
  const converter = createConverter({ folder, ffmpeg, tooLarge })
  const speech = createLocalSpeech({ espeak })
  return {
    probe,
    converter,
    speech,
    stage: (bytes, options) => stageFile(folder, bytes, { ...options, tooLarge }),
    async [Symbol.asyncDispose]() {
      await Promise.all([probe, converter, speech].map((part) => part[Symbol.asyncDispose]()))
    },
  }
}
