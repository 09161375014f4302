import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Exported, type Node, conversationOf } from './conversation.ts'

test('in any message tree, each message appears once, after its parent', () => {
  const ids = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f')
  const node = fc.record({
    id: ids,
    parent: fc.option(ids),
    role: fc.constantFrom<Node['role']>('user', 'assistant'),
    text: fc.constantFrom('', ' ', 'words'),
    at: fc.constant(null),
    model: fc.constant(null),
  })
  fc.assert(
    fc.property(fc.uniqueArray(node, { selector: ({ id }) => id, maxLength: 6 }), fc.option(ids), (nodes, head) => {
      const exported = new Exported()
      conversationOf({ external_id: 'x', title: '', at: null, head }, nodes, exported)
      const [chat] = exported.conversations
      const worded = nodes.filter(({ text }) => text.trim() !== '').map(({ id }) => id)
      assert.deepEqual((chat?.messages ?? []).map(({ id }) => id).toSorted(), worded.toSorted())
      const seen = new Set<string>()
      for (const { id, parent_id } of chat?.messages ?? []) {
        assert.ok(parent_id === null || seen.has(parent_id))
        seen.add(id)
      }
      assert.ok(chat === undefined || seen.has(chat.head_id))
    }),
  )
})
