import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hi } from '../translating.test.ts'
import { decode } from './decode.ts'

const read = (...messages: object[]) => {
  const { turn, losses } = decode({ model: 'm', messages: [hi, ...messages] })
  return { messages: turn.messages.slice(1), losses }
}
const use = (id: string) => ({ type: 'tool_use', id, name: 'look', input: {} })
const called = { role: 'assistant', content: [use('a')] }
const text = (words: string) => ({ type: 'text', text: words })

test('many twins of a long result are read soon', () => {
  const n = 20_000
  const long = { type: 'tool_result', tool_use_id: 'a', content: Array.from({ length: n }, () => text('x')) }
  const twins = Array.from({ length: n }, () => ({ type: 'tool_result', tool_use_id: 'a', content: 'y' }))
  const from = performance.now()
  const { messages } = read(called, { role: 'user', content: [long, ...twins] })
  const took = performance.now() - from
  assert.equal(messages[1]!.content.length, 1)
  assert.ok(took < 2000, `${took} ms`)
})

test('of two that are one result, the one that says something is kept, and another word is still a loss', () => {
  const own = (content: string) => ({ role: 'tool', tool_call_id: 'a', content })
  const foreign = (content?: string) => ({ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content }] })
  const real = [{ type: 'tool_result', id: 'a', content: [text('real')], is_error: false }]
  for (const [told, lost] of [
    [[foreign(), own('real')], []],
    [[own(''), foreign('real')], []],
    [[foreign('real'), own('')], []],
    [[foreign(), foreign(), own('real'), foreign('real')], []],
    [[foreign(), own('real'), foreign('other')], ['messages.tool_result']],
  ] as const) {
    const { messages, losses } = read(called, ...told)
    assert.deepEqual([messages.slice(1), losses], [[{ role: 'tool', content: real }], lost])
  }
})
