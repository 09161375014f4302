import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decode as decodeMessages } from '../../anthropic-messages/decode/decode.ts'
import { hi, refusal } from '../../translating.test.ts'
import { decode } from './decode.ts'
import { isMixed } from './mixed.ts'

const decodeWith = (more: object) => decode({ model: 'm', messages: [hi], ...more })
const schema = { type: 'object', properties: { at: { type: 'number' } } }

test('Anthropic’s tools are accepted with any type, and other tools stay what they are', () => {
  for (const type of [undefined, null, 'custom', 'function']) {
    const tools = [{ ...(type !== undefined && { type }), name: 'look', description: 'd', input_schema: schema }]
    const { canonical, losses } = decodeWith({ tools })
    assert.deepEqual([canonical.tools, losses], [[{ name: 'look', description: 'd', parameters: schema }], []])
    assert.ok(isMixed({ tools }))
  }
  const tools = [{ name: 'look', input_schema: schema, cache_control: { type: 'ephemeral', ttl: '1h' } }]
  assert.equal(decodeWith({ tools }).canonical.tools![0]!.cache, '1h')
  const both = { type: 'function', function: { name: 'look', parameters: schema }, input_schema: {}, name: 'x' }
  assert.deepEqual(decodeWith({ tools: [both] }).canonical.tools, [{ name: 'look', parameters: schema }])
  assert.equal(isMixed({ tools: [both] }), false)
  const nulls = [
    { name: 'look', input_schema: schema, parameters: null, function: null, custom: null, type: 'function' },
  ]
  assert.deepEqual(decodeWith({ tools: nulls }).canonical.tools, [{ name: 'look', parameters: schema }])
  assert.ok(isMixed({ tools: nulls }))
  const vendors = [
    { type: 'bash_20250124', name: 'bash' },
    { type: 'custom', name: 'grammar' },
  ]
  assert.deepEqual(decodeWith({ tools: vendors }).losses, ['tools.bash_20250124', 'tools.custom'])
})

test('a tool whose type isn’t a string is not one of Anthropic’s, and a translation refuses it', () => {
  for (const type of [{ toString: 1 }, ['custom'], 1]) {
    const tools = [{ type, name: 'look', input_schema: schema }]
    assert.equal(isMixed({ tools }), false)
    assert.deepEqual(
      refusal(() => decodeWith({ tools })),
      ['invalid_parameter', 'tools.0.type'],
    )
  }
})

test('Anthropic’s tool choice is accepted', () => {
  const tools = [{ name: 'look', input_schema: schema }]
  const choiceOf = (tool_choice: object) => {
    const { canonical, losses } = decodeWith({ tools, parallel_tool_calls: true, tool_choice })
    return [canonical.tool_choice, canonical.parallel_tool_calls, losses]
  }
  assert.deepEqual(choiceOf({ type: 'auto' }), ['auto', true, []])
  assert.deepEqual(choiceOf({ type: 'any', disable_parallel_tool_use: true }), ['required', false, []])
  assert.deepEqual(choiceOf({ type: 'none' }), ['none', true, []])
  assert.deepEqual(choiceOf({ type: 'tool', name: 'look' }), [{ name: 'look' }, true, []])
  assert.ok(['auto', 'any', 'none'].every((type) => isMixed({ tool_choice: { type } })))
  assert.ok(isMixed({ tool_choice: { type: 'tool', name: 'look' } }))
  for (const own of [
    'auto',
    null,
    { type: 'tool' },
    { type: 'required' },
    { type: { toString: 1 } },
    { type: 'function', function: { name: 'auto' } },
    { type: 'custom', custom: { name: 'any' } },
    { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [] } },
  ])
    assert.equal(isMixed({ tool_choice: own }), false)
  assert.deepEqual(choiceOf({ type: 'tool' }), [undefined, true, ['tool_choice']])
  assert.deepEqual(choiceOf({ type: 'constructor' }), [undefined, true, ['tool_choice']])
})

test('fields of Anthropic tools that a turn can’t represent are named as losses', () => {
  const tool = { name: 'look', input_schema: schema }
  const tools = [{ ...tool, input_examples: [{ at: 1 }], defer_loading: true }]
  const expectedLosses = ['tools.input_examples', 'tools.defer_loading']
  assert.deepEqual(decodeWith({ tools }).losses, expectedLosses)
  assert.deepEqual(decodeMessages({ model: 'm', max_tokens: 9, messages: [hi], tools }).losses, expectedLosses)
  assert.deepEqual(decodeWith({ tools: [{ ...tool, input_examples: [], defer_loading: false }] }).losses, [])
})
