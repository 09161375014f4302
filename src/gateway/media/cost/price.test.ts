import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { fromUsd } from '#core/money.ts'
import { imageRequest, speechRequest, transcriptionRequest, videoRequest } from '#test/media/requests.ts'
import { type MediaKind, unknownAbilities } from '../../catalogue/media.ts'
import type { Pricing } from '../../catalogue/model.ts'
import { priceOfOne } from '../../catalogue/price-of-one.ts'
import { offerOf } from '../../model/offer-of.test.ts'
import type { MediaOffer } from '../../model/offer.ts'
import type {
  ImageRequest,
  MediaInput,
  MediaRequest,
  MediaUnits,
  SpeechRequest,
  TranscriptionRequest,
  VideoRequest,
} from '../adapter.ts'
import { costOf, mediaUsage, worstCase } from './price.ts'

const image = (more: Partial<ImageRequest> = {}) => imageRequest(more)
const video = (more: Partial<VideoRequest> = {}) => videoRequest(more)
const speech = (more: Partial<SpeechRequest> = {}) => speechRequest({ input: 'hello', ...more })
const sound = (durationSeconds: number | null, sizeBytes = 1): MediaInput => ({
  kind: 'audio',
  type: 'audio/wav',
  extension: 'wav',
  sizeBytes,
  width: null,
  height: null,
  durationSeconds,
  name: 'sound.wav',
  read: async function* () {},
})
const transcription = (more: Partial<TranscriptionRequest> = {}) =>
  transcriptionRequest(sound(60), { timestamps: 'none', ...more })

function offer(kind: MediaKind, pricing: Partial<Pricing> | null, abilities: object = {}): MediaOffer {
  const media = {
    kind,
    abilities: { ...unknownAbilities(kind), ...abilities },
    pricing: pricing && { input: '0', output: '0', ...pricing },
  }
  return { ...offerOf(), media }
}
const cost = (request: MediaRequest, units: MediaUnits, at: MediaOffer, reservation: bigint | null = null) =>
  costOf(request, units, at, reservation)

test('images are priced per image, for any number', () => {
  const at = offer('image', { image: '40000' })
  assert.equal(worstCase(image({ n: 3 }), at), fromUsd('0.12'))
  assert.deepEqual(cost(image({ n: 3 }), {}, at), { nano: fromUsd('0.12'), source: 'computed' })
  assert.deepEqual(cost(image({ n: 3 }), { images: 2 }, at), { nano: fromUsd('0.08'), source: 'computed' })
})

test('the first matching variant applies, and open choices are reserved at the highest price', () => {
  const at = offer('image', {
    image: '40000',
    variants: [
      { when: { quality: 'hd', size: '1024x1024' }, image: '80000' },
      { when: { quality: 'hd' }, image: '120000' },
    ],
  })
  const square = { width: 1024, height: 1024 }
  assert.equal(worstCase(image(), at), fromUsd('0.12'), 'nothing is said')
  assert.equal(worstCase(image({ quality: 'standard' }), at), fromUsd('0.04'))
  assert.equal(worstCase(image({ quality: 'HD', size: square }), at), fromUsd('0.08'))
  assert.equal(worstCase(image({ quality: 'auto', size: square }), at), fromUsd('0.12'), '`auto` leaves it open')
  assert.equal(cost(image({ quality: 'hd', size: square }), {}, at).nano, fromUsd('0.08'))
  assert.equal(cost(image({ quality: 'hd' }), {}, at).nano, fromUsd('0.12'), 'a size that is not known matches none')
  assert.equal(cost(image(), {}, at).nano, fromUsd('0.04'))
  const only = offer('image', { variants: [{ when: { quality: 'low' }, image: '1000' }] })
  assert.equal(worstCase(image({ quality: 'high' }), only), null, 'this quality is in no source')
  assert.equal(cost(image(), {}, only).nano, fromUsd('0.001'))
})

test('pixels are those of the requested size, or of the largest', () => {
  const at = offer('image', { pixel: '0.019' }, { sizes: ['256x256', '1024x1024'] })
  assert.equal(worstCase(image(), at), fromUsd('0.019922944'))
  assert.equal(worstCase(image({ size: { width: 256, height: 256 } }), at), 1_245_184n)
  assert.deepEqual(cost(image(), {}, at, 7n), { nano: 7n, source: 'estimated' }, 'nobody says how large it is')
  assert.equal(cost(image(), { pixels: 256 * 256 }, at).nano, 1_245_184n)
})

test('image tokens have their own price, and the reservation counts if none are reported', () => {
  const at = {
    ...offer('image', { input: '5', image_input: '10', cache_read: '1.25', output: '40' }),
    maxOutputTokens: 5_000,
  }
  const units = { inputTokens: 100, inputImageTokens: 60, cachedInputTokens: 20, outputTokens: 1_000 }
  // 20 × 5 + 20 × 1.25 + 60 × 10 + 1,000 × 40
  assert.equal(cost(image(), units, at).nano, 40_725_000n)
  assert.deepEqual(cost(image(), {}, at, 9n), { nano: 9n, source: 'estimated' })
  assert.deepEqual(cost(image(), {}, at), { nano: null, source: null })
  assert.ok(worstCase(image({ n: 2 }), at)! >= 400_000_000n)
})

test('a video is priced per second, at its maximum length if none is requested', () => {
  const pricing = {
    video_second: '400000',
    variants: [{ when: { resolution: '1080p', audio: false }, video_second: '200000' }],
  }
  const at = offer('video', pricing, { seconds: [4, 8] })
  assert.equal(worstCase(video(), at), fromUsd('3.2'))
  assert.equal(worstCase(video({ seconds: 4, resolution: '1080P', audio: false }), at), fromUsd('0.8'))
  assert.equal(worstCase(video({ seconds: 4, size: { width: 1920, height: 1080 }, audio: false }), at), fromUsd('0.8'))
  assert.equal(cost(video({ seconds: 4 }), {}, at).nano, fromUsd('1.6'))
  assert.deepEqual(cost(video(), {}, at, 5n), { nano: 5n, source: 'estimated' })
  assert.equal(cost(video(), { videoSeconds: 5.5 }, at).nano, fromUsd('2.2'))
  assert.equal(worstCase(video(), offer('video', pricing)), null, 'nothing says how long it may be')
})

test('speech is priced by Unicode code points, not by bytes or surrogate halves', () => {
  const at = offer('speech', { character: '15' })
  assert.equal(worstCase(speech({ input: 'a😀é' }), at), 45_000n)
  assert.equal(cost(speech({ input: 'a😀é' }), {}, at).nano, 45_000n)
  assert.equal(mediaUsage(speech({ input: 'a😀é' }), {}).characters, 3)
})

test('a transcript is priced by seconds of audio: probed and rounded up, else estimated at 8 kbit/s', () => {
  const at = offer('transcription', { audio_second: '100' })
  assert.equal(worstCase(transcription({ sound: sound(59.2) }), at), 6_000_000n)
  assert.equal(worstCase(transcription({ sound: sound(null, 30_500) }), at), 3_100_000n)
  assert.equal(cost(transcription({ sound: sound(59.2) }), {}, at).nano, 5_920_000n)
  assert.deepEqual(cost(transcription({ sound: sound(null) }), {}, at, 8n), { nano: 8n, source: 'estimated' })
  const older = offer('transcription', { audio_input: '100', audio_unit: 'second' })
  assert.equal(cost(transcription(), {}, older).nano, 6_000_000n)
})

test('free offers cost 0, offers without a price null, and a plausible reported cost counts', () => {
  const free = { ...offer('image', null), endpoint: { ...offerOf().endpoint, billing: 'free' as const } }
  assert.equal(worstCase(image(), free), 0n)
  assert.deepEqual(cost(image(), {}, free), { nano: 0n, source: 'free' })
  for (const pricing of [null, {}, { character: '1' }]) {
    const at = offer('image', pricing)
    assert.equal(worstCase(image(), at), null)
    assert.deepEqual(cost(image(), {}, at, 5n), { nano: null, source: null })
  }
  assert.deepEqual(cost(image(), {}, offer('image', { image: '0' })), { nano: 0n, source: 'computed' })
  const at = offer('image', { image: '40000' })
  const reportedCost = (reportedUsd: number) => cost(image(), { reportedUsd }, at, fromUsd('0.04'))
  assert.deepEqual(reportedCost(0.03), { nano: fromUsd('0.03'), source: 'reported' })
  for (const usd of [0.05, -1, NaN, Infinity]) assert.equal(reportedCost(usd).source, 'computed', String(usd))
})

test('the price of one unit is that of its kind', () => {
  const pricing = {
    input: '0',
    output: '0',
    image: '40000',
    video_second: '400000',
    character: '15',
    audio_second: '100',
  }
  const kinds = ['image', 'video', 'speech', 'transcription'] as const
  assert.deepEqual(
    kinds.map((kind) => priceOfOne(kind, pricing)),
    [0.04, 0.4, 0.000015, 0.0001],
  )
  assert.equal(priceOfOne('image', { input: '5', output: '40' }), null)
})

const usd = fc.nat({ max: 10 ** 12 }).map((nano) => `${Math.floor(nano / 1e9)}.${String(nano % 1e9).padStart(9, '0')}`)
const some = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined })
const prices = fc.record(
  Object.fromEntries(
    ['input', 'output', 'cache_read', 'image', 'pixel', 'image_input', 'image_output', 'audio_input', 'audio_output']
      .concat('audio_second', 'video_second', 'character', 'request')
      .map((bucket) => [bucket, usd]),
  ),
  { requiredKeys: ['input', 'output'] },
) as unknown as fc.Arbitrary<Pricing>
const word = fc.constantFrom('low', 'high')
const lines = fc.constantFrom('720p', '1080p')
const side = fc.constantFrom(256, 720, 1080)
const size = fc.record({ width: side, height: side })
const when = fc.record(
  {
    size: size.map(({ width, height }) => `${width}x${height}`),
    quality: word,
    resolution: lines,
    audio: fc.boolean(),
  },
  { requiredKeys: [] },
)
const pricing = fc
  .tuple(
    prices,
    fc.array(
      fc.tuple(when, prices).map(([one, over]) => ({ ...over, when: one })),
      { maxLength: 3 },
    ),
  )
  .map(([plain, variants]) => ({ ...plain, audio_unit: 'token' as const, variants }))
const seconds = fc.double({ min: 0.001, max: 600, noNaN: true })
const requestArbitrary = fc.oneof(
  fc
    .record({ n: fc.integer({ min: 1, max: 10 }), size: fc.option(size), quality: fc.option(word) })
    .map((more): MediaRequest => image(more)),
  fc
    .record({
      seconds: fc.option(fc.integer({ min: 1, max: 12 })),
      resolution: fc.option(lines),
      audio: fc.option(fc.boolean()),
    })
    .map((more): MediaRequest => video(more)),
  fc.record({ input: fc.string({ unit: 'binary', minLength: 1 }) }).map((more): MediaRequest => speech(more)),
  fc.option(seconds).map((length): MediaRequest => transcription({ sound: sound(length, 600_000) })),
)
const part = fc.double({ min: 0, max: 1, noNaN: true })

/** Units that a vendor may report for such a request: up to the requested amount, with any split of tokens. */
const toldOf = (request: MediaRequest) =>
  fc
    .record({ share: part, split: part, known: fc.boolean(), tokens: fc.boolean() })
    .map(({ share, split, known: isReported, tokens }): MediaUnits => {
      const length = request.kind === 'transcription' ? (request.sound.durationSeconds ?? 600) : 2
      const text = request.kind === 'speech' ? Buffer.byteLength(request.input) : 5
      const input = Math.floor(share * (request.kind === 'transcription' ? length * 32 : text))
      const most = request.kind === 'image' ? 4_000 * request.n : request.kind === 'video' ? 0 : length * 20
      const output = Math.floor(share * (request.kind === 'speech' ? Math.min(most, text * 10) : most))
      const of = (total: number): number => Math.floor(total * split)
      return {
        ...(isReported && request.kind === 'image' && { images: Math.floor(share * request.n) }),
        ...(request.kind === 'image' && {
          pixels: Math.floor(share * request.n * (request.size ? request.size.width * request.size.height : 256 ** 2)),
        }),
        ...(isReported && request.kind === 'video' && { videoSeconds: share * (request.seconds ?? 12) }),
        ...(isReported && request.kind === 'transcription' && { audioSeconds: share * length }),
        ...(request.kind === 'speech' && { audioSeconds: share * 0.5 * [...request.input].length }),
        ...(tokens &&
          request.kind !== 'video' && {
            inputTokens: input,
            outputTokens: output,
            inputImageTokens: of(input),
            cachedInputTokens: Math.floor(share * of(input)),
            outputImageTokens: of(output),
            outputAudioTokens: output - of(output),
          }),
      }
    })

test('nothing costs more than its worst case', () => {
  fc.assert(
    fc.property(
      requestArbitrary.chain((request) => fc.tuple(fc.constant(request), toldOf(request))),
      pricing,
      some(fc.constant([256, 720])),
      ([request, units], plain, sides) => {
        const abilities =
          request.kind === 'video'
            ? { seconds: [4, 12] }
            : sides === undefined
              ? {}
              : { sizes: ['256x256', '1080x1080'] }
        const at = offer(request.kind, plain, abilities)
        const worst = worstCase(request, at)
        const { nano } = costOf(request, units, at, worst)
        if (worst === null) assert.equal(nano === null || plain.variants.length > 0, true)
        else assert.ok(nano !== null && nano <= worst, `${nano} is more than ${worst}`)
      },
    ),
    { numRuns: 2_000 },
  )
})
