import { storable, storableJson } from '#core/text/storable.ts'
import type { ProviderEndpoint } from '../model/offer.ts'
import { scrub } from '../wire/scrub.ts'
import {
  type Delivered,
  type Maker,
  MediaFault,
  type MediaRequest,
  type MediaUnits,
  type Polled,
  type Spoken,
  type VendorJob,
} from './adapter.ts'
import { badAnswer } from './answers.ts'
import { shorten } from '#core/text/shorten.ts'

/** The most of a unit that one request can come to. What says more is wrong, and counts as not said. */
const MOST: Readonly<Record<keyof MediaUnits, number>> = {
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
  // Judged with the price (`credibleReport`).
  reportedUsd: Infinity,
}
/** Files of one answer: as many as may be asked for. Each of them is fetched. */
const MOST_FILES = 10
/** Faults of fetching a result that was ready: asking again doesn't help. */
const GONE: ReadonlySet<MediaFault['kind']> = new Set(['not_found', 'bad_request'])
/** Characters of a vendor's own words. */
const MOST_WORDS = 1_000

/** Units that can be true: finite, not negative, and no more than anything comes to. */
export function believedUnits(told: MediaUnits): MediaUnits {
  const units: MediaUnits = {}
  for (const [name, most] of Object.entries(MOST) as [keyof MediaUnits, number][]) {
    const count = told[name]
    if (typeof count === 'number' && count >= 0 && count <= most) units[name] = count
  }
  return units
}

/**
 * The same maker for a vendor that may lie or be broken: its numbers are those that can be true, its files no more than may
 * be asked for, and its words short, free of the endpoint's secrets and fit to be kept. Every adapter is asked through this.
 */
export function believed<R extends MediaRequest>(maker: Maker<R>, endpoint: ProviderEndpoint): Maker<R> {
  const words = (said: string): string =>
    shorten(storable(scrub({ kind: 'server_error', message: said }, endpoint).message), MOST_WORDS)

  const told = (fault: unknown): unknown =>
    fault instanceof MediaFault ? new MediaFault(fault.kind, words(fault.message), fault) : fault

  async function* reading(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    try {
      yield* bytes
    } catch (fault) {
      if (!(fault instanceof MediaFault)) throw fault
      // The vendor has done its work, also where nothing of it can be fetched. A result that it no longer has is a bad answer.
      throw GONE.has(fault.kind)
        ? badAnswer(`The provider’s result can’t be downloaded, or has expired. ${words(fault.message)}`)
        : new MediaFault(fault.kind, words(fault.message), { ...fault, sent: true })
    }
  }

  async function explained<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer
    } catch (fault) {
      throw told(fault)
    }
  }

  function judged(delivered: Delivered): Delivered {
    switch (delivered.kind) {
      case 'files': {
        const { files } = delivered
        if (files.length > MOST_FILES)
          throw badAnswer(`The provider returned ${files.length} files, and the limit is ${MOST_FILES}.`)
        return {
          ...delivered,
          files: files.map(({ bytes, revisedPrompt }) => ({ bytes: reading(bytes), revisedPrompt })),
          units: believedUnits(delivered.units),
        }
      }
      case 'sound': {
        const { sound } = delivered
        const units = (): MediaUnits => believedUnits(sound.units())
        return { ...delivered, sound: { ...sound, bytes: reading(sound.bytes), units } }
      }
      case 'transcript': {
        const { transcript } = delivered
        const { segments, words, durationSeconds } = transcript
        return {
          ...delivered,
          transcript: {
            ...transcript,
            segments: segments.map(timed),
            words: words?.map(timed) ?? null,
            durationSeconds: believedUnits({ audioSeconds: durationSeconds ?? NaN }).audioSeconds ?? null,
          },
          units: believedUnits(delivered.units),
        }
      }
    }
  }

  async function polled(answer: Promise<Polled>): Promise<Polled> {
    const found = await explained(answer)
    switch (found.status) {
      case 'pending':
        return found
      case 'done':
        return { ...found, delivered: judged(found.delivered) }
      default:
        return { ...found, message: words(found.message) }
    }
  }

  if (maker.how === 'immediate')
    return { how: 'immediate', run: async (wire, request) => judged(await explained(maker.run(wire, request))) }
  const { cancel } = maker
  return {
    how: 'deferred',
    async submit(wire, request) {
      const { job, losses } = await explained(maker.submit(wire, request))
      return { job: storableJson(JSON.stringify(job)) as VendorJob, losses }
    },
    poll: (wire, job) => polled(maker.poll(wire, job)),
    ...(cancel && { cancel: (wire, job) => explained(cancel(wire, job)) }),
  }
}

const timed = (spoken: Spoken): Spoken => ({
  ...spoken,
  startSeconds: timeOf(spoken.startSeconds),
  endSeconds: timeOf(spoken.endSeconds),
})

const timeOf = (seconds: number): number => (seconds >= 0 && seconds <= MOST.audioSeconds ? seconds : 0)
