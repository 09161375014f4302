import type { Media } from '#packages/media-tools/media.ts'
import { UnreadableMedia } from '#packages/media-tools/probe/unreadable.ts'
import type { StagedFile } from '#packages/media-tools/staged-file.ts'
import { refuse } from '#core/errors.ts'
import { inOne } from '../../../media/answers.ts'
import type { MediaInput } from '../../../media/adapter.ts'
import type { UploadedFile } from './read-body.ts'

const MAX_BYTES = 32 << 20

/** Inspected and kept on disk until the request ends. */
export class StagedInputs implements AsyncDisposable {
  readonly #media: Media
  readonly #account: string
  readonly #signal: AbortSignal
  readonly #staged: StagedFile[] = []

  constructor(media: Media, account: string, signal: AbortSignal) {
    this.#media = media
    this.#account = account
    this.#signal = signal
  }

  async all(files: readonly UploadedFile[], field: string, kind: 'image' | 'audio'): Promise<MediaInput[]> {
    const inputs: MediaInput[] = []
    for (const { name, bytes } of files) {
      if (name !== field) continue
      const stagedFile = await this.#media.stage(inOne(bytes), { mostBytes: MAX_BYTES, signal: this.#signal })
      this.#staged.push(stagedFile)
      inputs.push(await this.#read(stagedFile, field, kind))
    }
    return inputs
  }

  async #read(stagedFile: StagedFile, field: string, kind: 'image' | 'audio'): Promise<MediaInput> {
    try {
      const facts = await this.#media.probe.facts(this.#account, stagedFile.path, this.#signal)
      // Audio may also come as video.
      if (facts.kind !== kind && !(kind === 'audio' && facts.kind === 'video'))
        refuse('invalid_parameter', { param: field, message: `\`${field}\` is ${facts.type}, which isn’t ${kind}.` })
      return { ...facts, name: `${field}.${facts.extension}`, read: () => stagedFile.read() }
    } catch (error) {
      if (!(error instanceof UnreadableMedia)) throw error
      if (error.reason === 'busy' || error.reason === 'missing') refuse('unavailable', { message: error.message })
      return refuse('invalid_parameter', { param: field, message: `\`${field}\` can’t be read. ${error.message}` })
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#staged.map((file) => file[Symbol.asyncDispose]()))
  }
}
