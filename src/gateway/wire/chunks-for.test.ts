import { readFileSync } from 'node:fs'
import * as fc from 'fast-check'
import { usageOf } from '#core/usage.ts'
import type { Chunk } from '../model/canonical-request.ts'
import type { AnswerAbout } from '../model/answer-about.ts'
import { ANTHROPIC_FORMAT } from './anthropic-messages/signature.ts'

/** Shared by the tests of several shapes: recorded streams, bytes cut at random, and generated answers. */
export interface Reader {
  feed(bytes: Uint8Array): Chunk[]
  end(): Chunk[]
}

export const readRecorded = (at: string, name: string): Buffer => readFileSync(new URL(`./fixtures/${name}.sse`, at))

export const readAll = (reader: Reader, bytes: Uint8Array): Chunk[] => [...reader.feed(bytes), ...reader.end()]

/** Cuts the bytes into pieces of these lengths, cyclically; 0 is an empty piece. */
export function readCut(reader: Reader, bytes: Uint8Array, lengths: number[]): Chunk[] {
  const chunks: Chunk[] = []
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const length = lengths[i % lengths.length]!
    chunks.push(...reader.feed(bytes.subarray(at, at + length)))
    at += length
  }
  return [...chunks, ...reader.end()]
}

export const cuts = fc.array(fc.nat(7), { minLength: 1, maxLength: 20 }).filter((lengths) => lengths.some((n) => n > 0))

export const about: AnswerAbout = {
  id: '01KAJ8R3T2M6QK5W9V0XBZC4DE',
  model: 'acme/model',
  created: 1_795_000_000,
  provider: 'Acme',
  billing: 'credits',
  request: {},
  costOf: (_, reportedCost) => reportedCost,
}

const words = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
  .filter((text) => text.trim() !== '' && text.isWellFormed())
const split = (text: string, at: number): string[] =>
  [text.slice(0, at), text.slice(at)].filter((piece) => piece.isWellFormed() && piece !== '')

type Segment = (n: number) => Chunk[]
const textSegment: fc.Arbitrary<Segment> = fc
  .array(words, { minLength: 1, maxLength: 4 })
  .map((pieces) => () => pieces.map((text) => ({ type: 'text', text })))
const reasoningSegment: fc.Arbitrary<Segment> = fc
  .tuple(fc.array(words, { maxLength: 3 }), fc.base64String({ minLength: 4, maxLength: 12 }))
  .map(([pieces, signature]) => () => [
    ...pieces.map((text): Chunk => ({ type: 'reasoning', text })),
    { type: 'reasoning_end', signature, format: ANTHROPIC_FORMAT },
  ])
const redactedSegment: fc.Arbitrary<Segment> = fc
  .base64String({ minLength: 4, maxLength: 12 })
  .map((data) => () => [{ type: 'reasoning_end', redacted: data, format: ANTHROPIC_FORMAT }])
const argumentsText = fc
  .dictionary(
    fc.string({ maxLength: 5 }).filter((key) => key !== '__proto__'),
    words,
    { maxKeys: 3 },
  )
  .map((args) => JSON.stringify(args))
const callSegment: fc.Arbitrary<Segment> = fc.tuple(words, argumentsText, fc.nat(20)).map(([, args, at]) => (n) => [
  { type: 'tool_call_start', id: `call_${n}`, name: `tool_${n}` },
  ...(split(args, at).join('') === args ? split(args, at) : [args]).map((delta): Chunk => ({
    type: 'tool_call_delta',
    id: `call_${n}`,
    delta,
  })),
  { type: 'tool_call_end', id: `call_${n}` },
])

/** Two calls with alternating deltas, as in OpenAI's parallel calls. */
const interleavedSegment: fc.Arbitrary<Segment> = fc
  .tuple(callSegment, callSegment, fc.array(fc.boolean(), { minLength: 12, maxLength: 12 }))
  .map(([one, two, coins]) => (n) => {
    const start = one((n + 1) * 1000)
    const right = two((n + 1) * 1000 + 1)
    const chunks: Chunk[] = []
    for (const first of coins) chunks.push(...(first ? start : right).splice(0, 1))
    chunks.push(...start, ...right)
    return chunks
  })

const usage = fc.record({
  input: fc.nat(1000),
  read: fc.nat(1000),
  write: fc.nat(50),
  output: fc.nat(1000),
  reasoning: fc.nat(500),
})

/** A valid answer: what a reader could have produced from a provider's stream. */
const answerOf = (segment: fc.Arbitrary<Segment>): fc.Arbitrary<Chunk[]> =>
  fc
    .tuple(fc.array(segment, { maxLength: 6 }), usage, fc.constantFrom('stop' as const, 'length' as const))
    .map(([segments, counts, end]) => {
      const content = segments.flatMap((make, n) => make(n))
      const hasCall = content.some(({ type }) => type === 'tool_call_start')
      const reason = end === 'stop' && hasCall ? 'tool_calls' : end
      return [
        { type: 'start', id: 'up_1', model: 'upstream' },
        ...content,
        {
          type: 'usage',
          usage: usageOf({
            input_tokens: counts.input,
            cache_read_tokens: counts.read,
            cache_write_5m_tokens: counts.write,
            output_tokens: counts.output,
            reasoning_tokens: counts.reasoning,
          }),
        },
        { type: 'finish', reason, native: reason },
      ]
    })

export const plainAnswers = answerOf(fc.oneof(textSegment, reasoningSegment, redactedSegment, callSegment))
export const wildAnswers = answerOf(
  fc.oneof(textSegment, reasoningSegment, redactedSegment, callSegment, interleavedSegment),
)
