import { storable, storableJson } from '#core/text/storable.ts'
import type { ProviderEndpoint } from '../model/offer.ts'
import { scrub } from '../wire/scrub.ts'
import {
  type DeliveredMedia,
  type Maker,
  MediaFault,
  type MediaRequest,
  type MediaUnits,
  type PollResult,
  type TranscriptSpan,
  type VendorJob,
} from './adapter.ts'
import { badAnswer } from './answers.ts'
import { shorten } from '#core/text/shorten.ts'

/** Plausibility limit per unit for one request. Higher values are wrong and count as unreported. */
const MAX: Readonly<Record<keyof MediaUnits, number>> = {
  images: 1_000,
  pixels: 1e12,
  videoSeconds: 1e6,
  audioSeconds: 1e6,
  characters: 1e8,
  inputTokens: 1e9,
  inputImageTokens: 1e9,
  inputAudioTokens: 1e9,
  cachedInputTokens: 1e9,
  outputTokens: 1e9,
  outputImageTokens: 1e9,
  outputAudioTokens: 1e9,
  reportedUsd: Infinity,
}
/** Files per answer: the most that can be requested. Each is downloaded. */
const MAX_FILES = 10
/** Download faults of a finished result for which a retry doesn't help. */
const GONE: ReadonlySet<MediaFault['kind']> = new Set(['not_found', 'bad_request'])
const MAX_WORDS = 1_000

export function believedUnits(reported: MediaUnits): MediaUnits {
  const units: MediaUnits = {}
  for (const [name, most] of Object.entries(MAX) as [keyof MediaUnits, number][]) {
    const count = reported[name]
    if (typeof count === 'number' && count >= 0 && count <= most) units[name] = count
  }
  return units
}

/**
 * Protects against a malicious or broken vendor: drops implausible numbers, limits files to the requested count, and
 * cleans messages of the endpoint's secrets. Every adapter is called through this.
 */
export function checkedMaker<R extends MediaRequest>(maker: Maker<R>, endpoint: ProviderEndpoint): Maker<R> {
  const words = (message: string): string =>
    shorten(storable(scrub({ kind: 'server_error', message: message }, endpoint).message), MAX_WORDS)

  const cleanFault = (fault: unknown): unknown =>
    fault instanceof MediaFault ? new MediaFault(fault.kind, words(fault.message), fault) : fault

  async function* reading(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    try {
      yield* bytes
    } catch (fault) {
      if (!(fault instanceof MediaFault)) throw fault
      // The vendor has done its work even if the download fails. A result that no longer exists is a bad answer.
      throw GONE.has(fault.kind)
        ? badAnswer(`The provider’s result can’t be downloaded, or has expired. ${words(fault.message)}`)
        : new MediaFault(fault.kind, words(fault.message), { ...fault, sent: true })
    }
  }

  async function explainErrors<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer
    } catch (fault) {
      throw cleanFault(fault)
    }
  }

  function checkResult(result: DeliveredMedia): DeliveredMedia {
    switch (result.kind) {
      case 'files': {
        const { files } = result
        if (files.length > MAX_FILES)
          throw badAnswer(`The provider returned ${files.length} files, and the limit is ${MAX_FILES}.`)
        return {
          ...result,
          files: files.map(({ bytes, revisedPrompt }) => ({ bytes: reading(bytes), revisedPrompt })),
          units: believedUnits(result.units),
        }
      }
      case 'sound': {
        const { sound } = result
        const units = (): MediaUnits => believedUnits(sound.units())
        return { ...result, sound: { ...sound, bytes: reading(sound.bytes), units } }
      }
      case 'transcript': {
        const { transcript } = result
        const { segments, words, durationSeconds } = transcript
        return {
          ...result,
          transcript: {
            ...transcript,
            segments: segments.map(checkTimes),
            words: words?.map(checkTimes) ?? null,
            durationSeconds: believedUnits({ audioSeconds: durationSeconds ?? NaN }).audioSeconds ?? null,
          },
          units: believedUnits(result.units),
        }
      }
    }
  }

  async function checkPoll(answer: Promise<PollResult>): Promise<PollResult> {
    const poll = await explainErrors(answer)
    switch (poll.status) {
      case 'pending':
        return poll
      case 'done':
        return { ...poll, delivered: checkResult(poll.delivered) }
      default:
        return { ...poll, message: words(poll.message) }
    }
  }

  if (maker.how === 'immediate')
    return {
      how: 'immediate',
      run: async (wire, request) => checkResult(await explainErrors(maker.run(wire, request))),
    }
  const { cancel } = maker
  return {
    how: 'deferred',
    async submit(wire, request) {
      const { job, losses } = await explainErrors(maker.submit(wire, request))
      return { job: storableJson(JSON.stringify(job)) as VendorJob, losses }
    },
    poll: (wire, job) => checkPoll(maker.poll(wire, job)),
    ...(cancel && { cancel: (wire, job) => explainErrors(cancel(wire, job)) }),
  }
}

const checkTimes = (span: TranscriptSpan): TranscriptSpan => ({
  ...span,
  startSeconds: timeOf(span.startSeconds),
  endSeconds: timeOf(span.endSeconds),
})

const timeOf = (seconds: number): number => (seconds >= 0 && seconds <= MAX.audioSeconds ? seconds : 0)
