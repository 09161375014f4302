import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Id } from '#core/ids.ts'
import { conversationOf } from './cache-affinity.ts'

const caller = '01KAJ8R3T2M6QK5W9V0XBZC4DE' as Id
const of = (json: Record<string, unknown>) => conversationOf(caller, json, undefined)

test('a conversation is recognized by its beginning, in every shape, and by nothing else', () => {
  const first = { role: 'user', content: 'Hello' }
  const later = [first, { role: 'assistant', content: 'Hi' }, { role: 'user', content: 'And?' }]
  for (const [field, system] of [
    ['messages', 'system'],
    ['input', 'instructions'],
  ] as const) {
    const conversation = of({ [field]: [first], [system]: 'Be short.' })
    assert.ok(conversation)
    assert.equal(of({ [field]: later, [system]: 'Be short.' }), conversation)
    assert.notEqual(of({ [field]: later, [system]: 'Be long.' }), conversation)
    assert.notEqual(of({ [field]: [{ role: 'user', content: 'Bye' }], [system]: 'Be short.' }), conversation)
  }
  assert.equal(of({ input: 'Hello' }), null)
  const withNames = (session: unknown) =>
    conversationOf(caller, { session_id: 'body', prompt_cache_key: 'key' }, session)
  assert.equal(withNames('header'), withNames(null), 'the body’s name wins')
  const withoutSession = (session: unknown) => conversationOf(caller, { prompt_cache_key: 'key' }, session)
  assert.notEqual(withoutSession('header'), withoutSession(null), 'then the header’s, then the cache’s')
  assert.equal(of({ input: later, prompt_cache_key: 'thread' }), of({ input: 'x', prompt_cache_key: 'thread' }))
})
