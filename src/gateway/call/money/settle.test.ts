import assert from 'node:assert/strict'
import { test } from 'node:test'
import { usageOf } from '#core/usage.ts'
import { costOf } from '../../model/cost/cost.ts'
import { emptyReading } from '../../model/in-progress.ts'
import { offerOf } from '../../model/offer-of.test.ts'
import { ChunkMeter } from '../../translation/chunk-meter.ts'
import { billedUsage } from './settle.ts'

const readingOf = (output: number, finishReason: string | null = null) => ({
  ...emptyReading(),
  usage: usageOf({ input_tokens: 10, output_tokens: output, reasoning_tokens: 2 }),
  finishReason,
})
const billed = (reading: Parameters<typeof billedUsage>[0], complete: boolean, characters: number) => {
  const { usage, estimated: isEstimated } = billedUsage(reading, complete, characters, { guessInput: () => 7 })
  return [usage.input_tokens, usage.output_tokens, isEstimated]
}

test('for a complete answer, the provider’s own count is billed', () => {
  assert.deepEqual(billed(readingOf(3, 'stop'), true, 4_000), [10, 3, false])
  assert.deepEqual(billed(readingOf(3), true, 4_000), [10, 3, false])
  assert.deepEqual(billed(readingOf(3, 'stop'), false, 4_000), [10, 3, false], 'only its last bytes are missing')
})

test('for a truncated or canceled answer, the written text counts if it exceeds the report', () => {
  assert.deepEqual(billed(readingOf(1), false, 400), [10, 98, true])
  assert.deepEqual(billed(readingOf(100), false, 400), [10, 100, false])
})

test('without a report, input and output are estimated if possible, else zero', () => {
  assert.deepEqual(billed(emptyReading(), true, 41), [7, 11, true])
  assert.deepEqual(billed({ ...emptyReading(), unpriced: true }, false, 400), [0, 0, true])
})

test('a client that disconnects after an image and before the usage pays for the image', () => {
  const meter = new ChunkMeter({ model: 'm', messages: [] }, false)
  meter.add({ type: 'text', text: 'A fox.. ' })
  meter.add({ type: 'image', source: { kind: 'base64', media_type: 'image/png', data: 'AAAA' } })
  const reading = meter.reading()
  const { usage, estimated: isEstimated } = billedUsage(reading, false, meter.uncounted, { guessInput: () => 7 })
  const cost = (pricing: object) =>
    costOf(usage, offerOf({ pricing: { input: '1', output: '2', ...pricing } }), undefined, null, {
      estimated: isEstimated,
      media: reading.media,
    })
  // Per image, 0.04 USD each, and for its 1,290 tokens.
  assert.deepEqual(cost({ image: '40000' }), { nano: 7_000n + 4_000n + 40_000_000n, source: 'estimated' })
  assert.deepEqual(cost({ image_output: '30' }), { nano: 7_000n + 4_000n + 38_700_000n, source: 'estimated' })
})
