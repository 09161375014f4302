import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bounded, openCalls } from '../../messages/tool-calls.ts'
import { savedParts } from '../../runs/facts.ts'
import { policyOf } from './tool-policy.ts'

test('results are limited in size, storable, and marked as cut', () => {
  const { output } = bounded({ output: { text: 'x'.repeat(1_000_000) }, is_error: false }) as { output: any }
  assert.ok(output.truncated && output.text.length === 64_000 && /1000011 characters/.test(output.message))
  assert.deepEqual(bounded({ output: { a: 'b\0c\ud800' }, is_error: true }), { output: { a: 'bc�' }, is_error: true })
})

test('calls are open until their result, even with repeated IDs, and the strictest policy applies', () => {
  const call = (id: string) => ({ type: 'tool_call' as const, id, name: 'find', arguments: '' })
  const result = (id: string) => ({ type: 'tool_result' as const, tool_call_id: id, output: 1, is_error: false })
  assert.deepEqual(
    openCalls([call('a'), result('a'), call('a')]).map(({ index }) => index),
    [2],
  )
  const tools = [
    { name: 'do', policy: 'allow' as const },
    { name: 'chats_create', policy: 'deny' as const },
  ]
  assert.equal(policyOf(tools, { tool: 'do', endpoint: 'chats.create' }), 'deny')
  assert.equal(policyOf(tools, { tool: 'find', endpoint: null }), null)
  assert.equal(policyOf(tools, { tool: 'do', endpoint: 'agents.update' }), 'ask')
  for (const endpoint of ['chats.update', 'workspaces.update', 'automations.fire'])
    assert.equal(policyOf(tools, { tool: 'do', endpoint }), 'ask', endpoint)
  for (const endpoint of ['chats.start_goal', 'chats.resume_goal', 'chats.retry'])
    assert.equal(policyOf(tools, { tool: 'do', endpoint }), 'deny', endpoint)
  const bold = [...tools, { name: 'chats.actions', policy: 'allow' as const }]
  assert.equal(policyOf(bold, { tool: 'chats.actions', endpoint: 'chats.actions' }), 'deny')
  const events = [
    { type: 'message.started', data: { message: { id: 'm' } } },
    { type: 'tool_call.started', data: { tool_call_id: 'a', name: 'find' } },
    { type: 'tool_result', data: { tool_call_id: 'a', output: 1, is_error: false } },
  ]
  assert.deepEqual(savedParts('m', [call('a')], events), [call('a'), result('a')])
  const more = { type: 'text.delta', data: { index: 2, delta: 'x' } }
  assert.equal(savedParts('m', [call('a')], [...events, more]), null)
})
