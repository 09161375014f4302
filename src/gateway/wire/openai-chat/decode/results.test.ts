import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hi, toClaude } from '../../translating.test.ts'
import { decode } from './decode.ts'

const decodeMessages = (...messages: object[]) => {
  const { canonical, losses } = decode({ model: 'm', messages: [hi, ...messages] })
  return { messages: canonical.messages.slice(1), losses }
}
const use = (id: string) => ({ type: 'tool_use', id, name: 'look', input: {} })
const assistantTurn = { role: 'assistant', content: [use('a')] }
const text = (words: string) => ({ type: 'text', text: words })

test('many duplicates of a long result are read quickly', () => {
  const n = 20_000
  const long = { type: 'tool_result', tool_use_id: 'a', content: Array.from({ length: n }, () => text('x')) }
  const twins = Array.from({ length: n }, () => ({ type: 'tool_result', tool_use_id: 'a', content: 'y' }))
  const from = process.cpuUsage()
  const { messages } = decodeMessages(assistantTurn, { role: 'user', content: [long, ...twins] })
  const { user } = process.cpuUsage(from)
  assert.equal(messages[1]!.content.length, 1)
  assert.ok(user < 2_000_000, `${user} µs`)
})

test('of two formats of one result the one with content is kept, and different content is still a loss', () => {
  const own = (content: string) => ({ role: 'tool', tool_call_id: 'a', content })
  const foreign = (content?: string) => ({
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: 'a', content }],
  })
  const real = [{ type: 'tool_result', id: 'a', content: [text('real')], is_error: false }]
  for (const [toolText, lostNames] of [
    [[foreign(), own('real')], []],
    [[own(''), foreign('real')], []],
    [[foreign('real'), own('')], []],
    [[foreign(), foreign(), own('real'), foreign('real')], []],
    [[foreign(), own('real'), foreign('other')], ['messages.tool_result']],
  ] as const) {
    const { messages, losses } = decodeMessages(assistantTurn, ...toolText)
    assert.deepEqual([messages.slice(1), losses], [[{ role: 'tool', content: real }], lostNames])
  }
})

test('user content beside a result moves behind the results that follow', () => {
  const both = {
    ...assistantTurn,
    tool_calls: ['b', 'c'].map((id) => ({ id, type: 'function', function: { name: 'look', arguments: '{}' } })),
  }
  const own = (id: string) => ({ role: 'tool', tool_call_id: id, content: `r${id}` })
  const foreign = (id: string, ...words: string[]) => ({
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: id, content: `r${id}` }, ...words.map(text)],
  })
  const next = { role: 'assistant', content: 'Well.' }
  const decodeAll = (...messages: object[]) =>
    decodeMessages(both, ...messages)
      .messages.slice(1)
      .map(({ content }) => content.map((part) => (part.type === 'text' ? part.text : 'id' in part && part.id)).join())
  assert.deepEqual(decodeAll(foreign('a', 'go'), own('b'), own('c')), ['a', 'b', 'c', 'go'])
  assert.deepEqual(decodeAll(own('a'), foreign('a', 'go'), own('b'), own('c'), next), ['a', 'b', 'c', 'go', 'Well.'])
  assert.deepEqual(decodeAll(foreign('a', 'go'), foreign('b', 'on'), own('c'), hi), ['a', 'b', 'c', 'go', 'on', 'hi'])
  const system = { role: 'system', content: 'Be brief.' }
  assert.deepEqual(decodeAll(foreign('a', 'go'), system, own('b')), ['a', 'go', 'Be brief.', 'b'])

  const messages = [hi, both, foreign('a', 'go'), own('b'), own('c')]
  const { body, losses } = toClaude({ messages })
  const { content } = (
    body['messages'] as { content: { type: string; tool_use_id?: string; is_error?: boolean }[] }[]
  )[2]!
  assert.deepEqual(
    content.map(({ type, tool_use_id, is_error = false }) => [tool_use_id ?? type, is_error]),
    [
      ['a', false],
      ['b', false],
      ['c', false],
      ['text', false],
    ],
  )
  assert.deepEqual(losses, [])
})
