import type { Blobs, StagedBlob } from '#infra/blobs/blobs.ts'
import type { MediaFacts } from '#packages/media-tools/facts.ts'
import type { Media } from '#packages/media-tools/media.ts'
import { UnreadableMedia } from '#packages/media-tools/probe/unreadable.ts'
import {
  type DeliveredMedia,
  type MadeFile,
  type MadeSound,
  MediaFault,
  type MediaKind,
  type MediaUnits,
  type Transcript,
} from '#gateway/media/adapter.ts'
import { Refusal } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'

/** A staged, inspected file. */
export interface CollectedFile {
  staged: StagedBlob
  facts: MediaFacts
  revisedPrompt: string | null
}

export interface CollectedMedia {
  files: readonly CollectedFile[]
  transcript: Transcript | null
  units: MediaUnits
  losses: readonly string[]
}

/** Per file, or per response for a video (contract, part 16). */
const MAX_BYTES: Readonly<Record<MediaKind, number>> = {
  image: 64 << 20,
  video: 512 << 20,
  speech: 512 << 20,
  transcription: 0,
}
const WANTED: Readonly<Record<MediaKind, MediaFacts['kind']>> = {
  image: 'image',
  video: 'video',
  speech: 'audio',
  transcription: 'audio',
}
/** 16-bit mono. */
const SAMPLE_BYTES = 2

/**
 * Stages a vendor's result after inspecting it. Empty, truncated or mismatched data is the fault `bad_answer`, and
 * nothing is kept.
 */
export async function collect(
  { media, blobs }: { media: Media; blobs: Blobs },
  kind: MediaKind,
  delivery: DeliveredMedia,
  { account, signal }: { account: Id; signal: AbortSignal },
): Promise<CollectedMedia> {
  if (delivery.kind === 'transcript') {
    const { transcript, units, losses } = delivery
    return { files: [], transcript, units, losses }
  }
  const files: CollectedFile[] = []
  try {
    if (delivery.kind === 'sound') {
      const { sound, losses } = delivery
      files.push(sound.format === 'pcm' ? await plainSamples(sound) : await probeFile(sound.bytes, null))
      return { files, transcript: null, units: sound.units(), losses }
    }
    if (delivery.files.length === 0)
      throw new MediaFault('bad_answer', 'The provider reported success without a result.')
    for (const { bytes, revisedPrompt } of delivery.files) files.push(await probeFile(bytes, revisedPrompt))
    return { files, transcript: null, units: delivery.units, losses: delivery.losses }
  } catch (error) {
    await discard(files)
    throw error
  }

  async function probeFile(bytes: MadeFile['bytes'], revisedPrompt: string | null): Promise<CollectedFile> {
    await using file = await media.stage(bytes, { mostBytes: MAX_BYTES[kind], signal }).catch(tooLarge)
    const facts = await media.probe.facts(account, file.path, signal).catch(unusable)
    if (facts.kind !== WANTED[kind])
      throw new MediaFault('bad_answer', `The provider returned ${facts.type}, which isn’t what was requested.`)
    return { staged: await blobs.stage(file.read(), { signal }), facts, revisedPrompt }
  }

  /** Wraps raw samples as WAV. Their rate can't be verified. */
  async function plainSamples({ bytes, sampleRate }: MadeSound): Promise<CollectedFile> {
    const blob = await blobs.stage(bytes, { signal, limit: MAX_BYTES[kind] })
    const begins = blob.head.toString('latin1', 0, 64).trimStart()
    if (blob.size < SAMPLE_BYTES || /^(<|\{")/.test(begins)) {
      await blob.discard()
      throw new MediaFault('bad_answer', 'The provider’s response isn’t audio.')
    }
    const rate = sampleRate ?? 24_000
    const durationSeconds = blob.size / SAMPLE_BYTES / rate
    const facts = {
      kind: 'audio',
      type: `audio/l16`,
      extension: 'pcm',
      sizeBytes: blob.size,
      width: null,
      height: null,
      durationSeconds,
    } as const
    return { staged: blob, facts, revisedPrompt: null }
  }
}

export async function discard(files: readonly CollectedFile[]): Promise<void> {
  for (const { staged } of files) await staged.discard().catch(() => {})
}

function tooLarge(error: unknown): never {
  if (error instanceof Refusal && error.code === 'payload_too_large')
    throw new MediaFault('bad_answer', 'The provider’s result is too large to store.')
  throw error
}

function unusable(error: unknown): never {
  if (!(error instanceof UnreadableMedia)) throw error
  // The server couldn't inspect the file, which isn't the provider's fault. It may be fetched again.
  if (error.reason === 'busy' || error.reason === 'missing')
    throw new Refusal('unavailable', { message: error.message })
  throw new MediaFault('bad_answer', `The provider’s result can’t be used. ${error.message}`)
}
