import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import type { Chunk } from '#gateway/model/canonical-request.ts'
import { AgentAnswer } from './answer.ts'
import { sensibleModel } from './choose-model.ts'
import { turnOf } from '../messages/history.ts'
import { type Part, titleOf } from '../messages/parts.ts'
import { type RunEvent, partsOf } from '../runs/facts.ts'

const words = fc.string({ unit: 'binary', maxLength: 20 })
/** Cut anywhere, even within a surrogate pair. */
const pieces = fc
  .tuple(words, fc.array(fc.nat(40), { maxLength: 6 }))
  .map(([whole, cuts]) =>
    [...new Set([0, ...cuts.map((cut) => Math.min(cut, whole.length)), whole.length])]
      .toSorted((a, b) => a - b)
      .map((from, i, all) => whole.slice(from, all[i + 1] ?? from)),
  )
const section = fc.oneof(
  pieces.map((all): Chunk[] => all.map((text) => ({ type: 'text', text }))),
  pieces.map((all): Chunk[] => [...all.map((text): Chunk => ({ type: 'reasoning', text })), { type: 'reasoning_end' }]),
  fc
    .tuple(fc.uuid(), pieces)
    .map(([id, all]): Chunk[] => [
      { type: 'tool_call_start', id, name: 'look' },
      ...all.map((delta): Chunk => ({ type: 'tool_call_delta', id, delta })),
      { type: 'tool_call_end', id },
    ]),
)

test('deltas are whole code points and concatenate to the message', () => {
  fc.assert(
    fc.property(fc.array(section, { maxLength: 8 }), (sections) => {
      const answer = new AgentAnswer('M')
      const facts: RunEvent[] = [{ type: 'message.started', data: { message: { id: 'M' } } }]
      for (const chunk of sections.flat()) facts.push(...answer.add(chunk))
      facts.push(...answer.end())
      for (const { data } of facts) {
        if (typeof data.delta !== 'string') continue
        assert.ok(data.delta.isWellFormed() && !data.delta.includes('\0') && data.delta !== '')
      }
      assert.deepEqual(partsOf('M', facts), answer.parts)
      const chunkText = (type: string): string =>
        sections
          .flat()
          .map((chunk) => (chunk.type === type && 'text' in chunk ? chunk.text : ''))
          .join('')
          .replaceAll('\0', '')
      const partText = (type: string): string =>
        answer.parts.map((part) => (part.type === type && 'text' in part ? part.text : '')).join('')
      if (chunkText('text').isWellFormed()) assert.equal(partText('text').length, chunkText('text').length)
    }),
    { numRuns: 2_000 },
  )
})

test('a lone surrogate at the very end is shown as a replacement character', () => {
  const answer = new AgentAnswer('M')
  const facts = [...answer.add({ type: 'text', text: 'a\ud83d' }), ...answer.end()]
  assert.deepEqual(
    facts.map(({ data }) => data.delta),
    ['a', '\ufffd'],
  )
  assert.deepEqual(answer.parts, [{ type: 'text', text: 'a\ufffd' }])
})

test('a title is the first line with text, cut at a word', () => {
  assert.equal(titleOf('\n\n## Plan the  trip\nto the sea'), 'Plan the trip')
  assert.equal(titleOf('   \n'), null)
  const long = titleOf('word '.repeat(30))!
  assert.ok(long.endsWith('word…') && [...long].length <= 60, long)
  assert.equal([...titleOf('🦄'.repeat(80))!].length, 60)
})

test('an assistant message becomes one message per step, and every call gets a result', () => {
  const content: Part[] = [
    { type: 'text', text: 'Let me look.' },
    { type: 'tool_call', id: 'a', name: 'look', arguments: '{}' },
    { type: 'tool_result', tool_call_id: 'a', output: { found: 1 }, is_error: false },
    { type: 'text', text: 'One.' },
    { type: 'tool_call', id: 'b', name: 'look', arguments: '{}' },
  ]
  const turn = turnOf('Be brief.', [
    { role: 'user', content: [{ type: 'text', text: 'How many?' }] },
    { role: 'assistant', content: [] },
    { role: 'assistant', content },
  ])
  assert.deepEqual(
    turn.map(({ role, content }) => `${role}: ${content.map(({ type }) => type).join(' ')}`),
    [
      'system: text',
      'user: text',
      'assistant: text tool_call',
      'tool: tool_result',
      'assistant: text tool_call',
      'tool: tool_result',
    ],
  )
  assert.deepEqual(turn[3]!.content[0], {
    type: 'tool_result',
    id: 'a',
    content: [{ type: 'text', text: '{"found":1}' }],
    is_error: false,
  })
})

test('the default model prefers own keys, then free models, and simulated ones last', () => {
  // Fields that distinguish models in this test.
  const listed = (slug: string, billing: string, releasedAt: string | null = null) =>
    ({
      slug,
      releasedAt,
      endpoint: { slug: slug.split('/')[0]!, billing },
      modalities: { input: ['text'], output: ['text'] },
    }) as unknown as Parameters<typeof sensibleModel>[0][number]
  const sim = listed('sim/echo', 'credits', '2026-11-21')
  const all = [
    sim,
    listed('a/old', 'byok', '2025-01-01'),
    listed('a/new', 'byok', '2026-01-01'),
    listed('local/x', 'free'),
  ]
  const none = () => false
  assert.equal(sensibleModel(all, none), 'a/new')
  assert.equal(sensibleModel([sim, listed('big/x', 'credits'), listed('local/x', 'free')], none), 'local/x')
  assert.equal(sensibleModel([listed('sim/script', 'credits'), sim], none), 'sim/echo')
  assert.equal(sensibleModel([], none), null)
  // A model that refuses every call ranks last, even after a simulated one.
  const refuses =
    (...slugs: string[]) =>
    ({ slug }: { slug: string }) =>
      slugs.includes(slug)
  assert.equal(sensibleModel(all, refuses('a/new')), 'a/old')
  assert.equal(sensibleModel(all, refuses('a/new', 'a/old')), 'local/x')
  assert.equal(sensibleModel(all, refuses('a/new', 'a/old', 'local/x')), 'sim/echo')
  assert.equal(sensibleModel(all.slice(1), refuses('a/new', 'a/old', 'local/x')), 'a/new')
})
