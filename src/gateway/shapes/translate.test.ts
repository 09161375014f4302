import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { Refusal } from '#kernel/errors.ts'
import { decode as decodeMessages } from './anthropic-messages/decode.ts'
import { encode as encodeMessages } from './anthropic-messages/encode.ts'
import { quirksOf } from './anthropic-messages/quirks.ts'
import { sealSignature } from './anthropic-messages/signature.ts'
import { decode as decodeChat } from './openai-chat/decode.ts'
import { encode as encodeChat } from './openai-chat/encode.ts'
import type { Target } from './target.ts'

const claude: Target = {
  model: 'claude-sonnet-4-6',
  maxOutputTokens: 64_000,
  capabilities: ['tools', 'vision', 'reasoning'],
  preset: 'anthropic',
}
const old: Target = { ...claude, model: 'claude-sonnet-4-5' }
const gpt: Target = {
  model: 'gpt-5',
  maxOutputTokens: 32_000,
  capabilities: ['tools', 'vision', 'reasoning'],
  preset: 'openai',
}
const other: Target = { model: 'llama', maxOutputTokens: null, capabilities: [], preset: null }

const hi = { role: 'user', content: 'hi' }
/** A chat client's request as an Anthropic provider gets it. */
const toClaude = (body: object, target = claude) =>
  encodeMessages(decodeChat({ model: 'm', messages: [hi], ...body }).turn, target, { stream: false })
/** An Anthropic client's request as a chat provider gets it. */
const toChat = (body: object, target = other) =>
  encodeChat(decodeMessages({ model: 'm', max_tokens: 100, messages: [hi], ...body }).turn, target, { stream: false })
const refusal = (run: () => unknown) => {
  try {
    run()
  } catch (error) {
    if (error instanceof Refusal) return [error.code, error.param]
    throw error
  }
  return null
}

test('only what the vendors refuse is refused; null is absent and unknown fields are tolerated', () => {
  assert.deepEqual(
    refusal(() => decodeChat({ messages: [hi] })),
    ['missing_parameter', 'model'],
  )
  assert.deepEqual(
    refusal(() => decodeChat({ model: 'm' })),
    ['missing_parameter', 'messages'],
  )
  assert.deepEqual(
    refusal(() => decodeChat({ model: 'm', messages: [] })),
    ['invalid_parameter', 'messages'],
  )
  assert.deepEqual(
    refusal(() => decodeChat({ model: 'm', messages: [hi], temperature: 'hot' })),
    ['invalid_parameter', 'temperature'],
  )
  assert.deepEqual(
    refusal(() => decodeChat({ model: 'm', messages: [{ role: 'tool', content: 'x' }] })),
    ['missing_parameter', 'messages.0.tool_call_id'],
  )
  assert.deepEqual(
    refusal(() => decodeMessages({ model: 'm', messages: [hi] })),
    ['missing_parameter', 'max_tokens'],
  )
  assert.deepEqual(
    refusal(() => decodeMessages({ model: 'm', max_tokens: 1, messages: [{ role: 'robot', content: '' }] })),
    ['invalid_parameter', 'messages.0.role'],
  )
  const sampled = { model: 'm', max_tokens: 1, messages: [hi], temperature: 0.5 }
  assert.deepEqual(
    refusal(() => decodeMessages(sampled, '2026-10-21')),
    ['invalid_parameter', 'temperature'],
  )
  assert.equal(decodeMessages(sampled).turn.temperature, 0.5)
  const nulls = Object.fromEntries(
    'temperature top_p stop tools tool_choice response_format seed n stream user max_tokens reasoning_effort stream_options logit_bias'
      .split(' ')
      .map((name) => [name, null]),
  )
  assert.deepEqual(decodeChat({ model: 'm', messages: [hi], ...nulls, something_new: null }), {
    turn: { model: 'm', messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }] },
    stream: false,
    includeUsage: false,
    losses: [],
  })
})

test('what a Turn has no place for is named, what changes nothing is not', () => {
  const { losses } = decodeChat({
    model: 'm',
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'x' },
          { type: 'input_audio', input_audio: {} },
        ],
      },
    ],
    logprobs: true,
    frequency_penalty: 0.5,
    presence_penalty: 0,
    logit_bias: {},
    service_tier: 'auto',
    verbosity: 'low',
    tools: [{ type: 'custom', custom: { name: 'x' } }],
    provider: { order: ['a'] },
    store: true,
  })
  assert.deepEqual(losses, ['logprobs', 'frequency_penalty', 'verbosity', 'tools.custom', 'messages.input_audio'])
  const claudeCode = decodeMessages({
    model: 'm',
    max_tokens: 64_000,
    messages: [hi, { role: 'system', content: 'be brief' }],
    context_management: { edits: [] },
    thinking: { type: 'adaptive', display: 'omitted' },
    output_config: { effort: 'max' },
    metadata: { user_id: '{"device":"x"}' },
    tools: [
      { name: 'f', input_schema: { type: 'object' }, defer_loading: true },
      { type: 'web_search_20250305', name: 'web_search' },
    ],
  })
  assert.deepEqual(claudeCode.losses, ['context_management', 'tools.web_search_20250305'])
  assert.deepEqual(claudeCode.turn.reasoning, { effort: 'max', exclude: true })
  assert.deepEqual(claudeCode.turn.messages[1], { role: 'system', content: [{ type: 'text', text: 'be brief' }] })
})

test('tool results of a chat become one user message of an Anthropic one, first in it, and complete', () => {
  const call = (id: string, args: string) => ({ id, type: 'function', function: { name: 'f', arguments: args } })
  const { body } = toClaude({
    messages: [
      { role: 'system', content: 'one' },
      { role: 'developer', content: 'two' },
      hi,
      { role: 'assistant', content: '', tool_calls: [call('a', '{"n":1}'), call('b', ''), call('c', 'not json')] },
      { role: 'tool', tool_call_id: 'b', content: 'B' },
      { role: 'tool', tool_call_id: 'a', content: [{ type: 'text', text: 'A' }] },
      { role: 'tool', tool_call_id: 'orphan', content: 'O' },
      { role: 'user', content: 'go on' },
    ],
  })
  assert.deepEqual(body['system'], [
    { type: 'text', text: 'one' },
    { type: 'text', text: 'two' },
  ])
  const use = (id: string, input: object) => ({ type: 'tool_use', id, name: 'f', input })
  assert.deepEqual(body['messages'], [
    { role: 'user', content: [{ type: 'text', text: 'hi' }] },
    { role: 'assistant', content: [use('a', { n: 1 }), use('b', {}), use('c', { arguments: 'not json' })] },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: 'A' }] },
        { type: 'tool_result', tool_use_id: 'b', content: [{ type: 'text', text: 'B' }] },
        {
          type: 'tool_result',
          tool_use_id: 'c',
          content: [{ type: 'text', text: 'This call was not carried out.' }],
          is_error: true,
        },
        { type: 'text', text: 'Result of the earlier tool call orphan:' },
        { type: 'text', text: 'O' },
        { type: 'text', text: 'go on' },
      ],
    },
  ])
  // Calls in the history need their tool, though the client no longer names it.
  assert.deepEqual(body['tools'], [{ name: 'f', input_schema: { type: 'object', properties: {} } }])
  assert.equal(body['max_tokens'], 64_000)
})

test('messages with nothing in them go, neighbours are merged, and the last words of an answer end without white space', () => {
  const { body } = toClaude({
    messages: [
      hi,
      { role: 'assistant', content: ' ' },
      { role: 'user', content: 'still there?' },
      { role: 'assistant', content: 'Yes,  ' },
    ],
  })
  assert.deepEqual(body['messages'], [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'hi' },
        { type: 'text', text: 'still there?' },
      ],
    },
    { role: 'assistant', content: [{ type: 'text', text: 'Yes,' }] },
  ])
})

test('a system message in between stays there: natively where the model takes it, else in a tag', () => {
  const messages = [hi, { role: 'assistant', content: 'yes' }, { role: 'system', content: 'be brief' }, hi]
  const between = (target: Target) =>
    (toClaude({ messages }, target).body['messages'] as { role: string; content: { text: string }[] }[])[2]!
  assert.deepEqual(between(claude), {
    role: 'user',
    content: [
      { type: 'text', text: '<system>\nbe brief\n</system>' },
      { type: 'text', text: 'hi' },
    ],
  })
  assert.equal(between({ ...claude, model: 'claude-opus-5' }).role, 'system')
})

test('knobs that Anthropic lacks are losses, those that it has elsewhere are moved', () => {
  const { body, losses } = toClaude({
    temperature: 1.5,
    top_p: 0.5,
    seed: 7,
    n: 2,
    stop: ['END', ' '],
    user: 'ann@example.org',
    max_tokens: 10,
  })
  assert.deepEqual([...losses].toSorted(), ['n', 'seed', 'temperature', 'top_p'])
  assert.deepEqual(
    [body['temperature'], body['top_p'], body['stop_sequences'], body['max_tokens']],
    [1, undefined, ['END'], 10],
  )
  assert.match((body['metadata'] as { user_id: string }).user_id, /^[0-9a-f]{64}$/)
  const modern = toClaude({ temperature: 0.2 }, { ...claude, model: 'claude-opus-5' })
  assert.deepEqual([modern.body['temperature'], modern.losses], [undefined, ['temperature']])
})

test('tools, choices and names are translated, and changed names can be turned back', () => {
  const tools = [
    { type: 'function', function: { name: 'files.read', parameters: { properties: { path: {} } } } },
    { type: 'function', name: 'flat' },
  ]
  const { body, renamed } = toClaude({
    tools,
    tool_choice: { type: 'function', function: { name: 'files.read' } },
    parallel_tool_calls: false,
  })
  const sent = [...renamed.keys()][0]!
  assert.match(sent, /^files_read_[0-9a-f]{10}$/)
  assert.equal(renamed.get(sent), 'files.read')
  assert.deepEqual(body['tool_choice'], { type: 'tool', name: sent, disable_parallel_tool_use: true })
  assert.deepEqual(body['tools'], [
    { name: sent, input_schema: { properties: { path: {} }, type: 'object' } },
    { name: 'flat', input_schema: { type: 'object', properties: {} } },
  ])
  assert.deepEqual(toClaude({ tools, tool_choice: 'required' }).body['tool_choice'], { type: 'any' })
  const allowed = {
    type: 'allowed_tools',
    allowed_tools: { mode: 'required', tools: [{ type: 'function', function: { name: 'flat' } }] },
  }
  const narrowed = toClaude({ tools, tool_choice: allowed }).body
  assert.deepEqual([(narrowed['tools'] as object[]).length, narrowed['tool_choice']], [1, { type: 'any' }])
})

test('reasoning becomes an effort or a budget, and never more than the client let it spend', () => {
  const thinking = (body: object, target: Target) => {
    const { body: sent, losses } = toClaude(body, target)
    return [sent['thinking'], sent['output_config'], losses, sent['max_tokens']]
  }
  assert.deepEqual(thinking({ reasoning_effort: 'high' }, claude), [
    { type: 'adaptive', display: 'summarized' },
    { effort: 'high' },
    [],
    64_000,
  ])
  assert.deepEqual(thinking({ reasoning_effort: 'medium', max_tokens: 10_000 }, old), [
    { type: 'enabled', budget_tokens: 5000 },
    undefined,
    [],
    10_000,
  ])
  assert.deepEqual(thinking({ reasoning: { max_tokens: 20_000 }, max_tokens: 10_000 }, old), [
    { type: 'enabled', budget_tokens: 9999 },
    undefined,
    [],
    10_000,
  ])
  assert.deepEqual(thinking({ reasoning_effort: 'high', max_tokens: 500 }, old), [
    undefined,
    undefined,
    ['reasoning'],
    500,
  ])
  assert.deepEqual(thinking({ reasoning_effort: 'none' }, old), [{ type: 'disabled' }, undefined, [], 64_000])
  const forced = { tools: [{ type: 'function', function: { name: 'f' } }], tool_choice: 'required' }
  assert.deepEqual(thinking({ reasoning_effort: 'high', ...forced }, claude), [
    undefined,
    undefined,
    ['reasoning'],
    64_000,
  ])
})

test('a schema for the answer is closed, and its refused keywords are losses', () => {
  const schema = {
    type: 'object',
    properties: { pattern: { type: 'string', minLength: 2 }, kind: { oneOf: [{ type: 'string' }, { type: 'null' }] } },
  }
  const { body, losses } = toClaude({ response_format: { type: 'json_schema', json_schema: { name: 'x', schema } } })
  assert.deepEqual(losses, ['response_format.minLength'])
  assert.deepEqual(body['output_config'], {
    format: {
      type: 'json_schema',
      schema: {
        type: 'object',
        properties: { pattern: { type: 'string' }, kind: { anyOf: [{ type: 'string' }, { type: 'null' }] } },
        additionalProperties: false,
      },
    },
  })
})

test('images show their real type, PDFs and text are documents, and other files are refused', () => {
  const file = (type: string, data = 'QQ==') => ({
    type: 'file',
    file: { file_data: `data:${type};base64,${data}`, filename: 'a' },
  })
  const content = [
    { type: 'image_url', image_url: { url: 'data:image/jpeg;base64,iVBORw0KGgoAAAA' } },
    { type: 'image_url', image_url: { url: 'https://example.org/a.png' } },
    file('application/pdf'),
    file('text/csv', 'YSxi'),
  ]
  const { body } = toClaude({ messages: [{ role: 'user', content }] })
  assert.deepEqual((body['messages'] as { content: object[] }[])[0]!.content, [
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgoAAAA' } },
    { type: 'image', source: { type: 'url', url: 'https://example.org/a.png' } },
    { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'QQ==' }, title: 'a' },
    { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'a,b' }, title: 'a' },
  ])
  const zip = () => toClaude({ messages: [{ role: 'user', content: [file('application/zip')] }] })
  assert.deepEqual(refusal(zip), ['unsupported_model', 'messages'])
  const ftp = () =>
    toClaude({ messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'ftp://x' } }] }] })
  assert.deepEqual(refusal(ftp), ['invalid_parameter', 'messages.0.content.0.image_url.url'])
})

test('at most four cache marks travel, the last ones', () => {
  const content = Array.from({ length: 6 }, (_, i) => ({
    type: 'text',
    text: `${i}`,
    cache_control: { type: 'ephemeral', ttl: i === 5 ? '1h' : '5m' },
  }))
  const { body, losses } = toClaude({ messages: [{ role: 'user', content }] })
  const marks = (body['messages'] as { content: { cache_control?: object }[] }[])[0]!.content.map(
    (block) => block.cache_control,
  )
  assert.deepEqual(marks, [
    undefined,
    undefined,
    ...Array.from({ length: 3 }, () => ({ type: 'ephemeral' })),
    { type: 'ephemeral', ttl: '1h' },
  ])
  assert.deepEqual(losses, ['cache_control'])
})

test('an Anthropic conversation becomes a chat: results first, their images after them all', () => {
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo' } }
  const { body, losses } = toChat({
    system: [{ type: 'text', text: 'be kind', cache_control: { type: 'ephemeral' } }],
    messages: [
      hi,
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'hm', signature: 'EqQ=' },
          { type: 'text', text: 'Looking.' },
          { type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: 1 } },
          { type: 'tool_use', id: 'toolu_2', name: 'look', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'toolu_2', is_error: true, content: 'gone' },
          { type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'text', text: 'a cat' }, image] },
          { type: 'text', text: 'and?' },
        ],
      },
    ],
    tools: [{ name: 'look', input_schema: { type: 'object' } }],
    tool_choice: { type: 'any', disable_parallel_tool_use: true },
    stop_sequences: ['a', 'b', 'c', 'd', 'e'],
    top_k: 3,
  })
  assert.deepEqual(body['messages'], [
    { role: 'system', content: 'be kind' },
    hi,
    {
      role: 'assistant',
      content: 'Looking.',
      tool_calls: [
        { id: 'toolu_1', type: 'function', function: { name: 'look', arguments: '{"at":1}' } },
        { id: 'toolu_2', type: 'function', function: { name: 'look', arguments: '{}' } },
      ],
    },
    { role: 'tool', tool_call_id: 'toolu_1', content: 'a cat\n[image: see the next user message]' },
    { role: 'tool', tool_call_id: 'toolu_2', content: 'Error: gone' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'From the result of tool call toolu_1:' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo' } },
      ],
    },
    { role: 'user', content: 'and?' },
  ])
  assert.deepEqual(
    [body['tool_choice'], body['parallel_tool_calls'], body['stop'], body['max_tokens']],
    ['required', false, ['a', 'b', 'c', 'd'], 100],
  )
  assert.deepEqual([...losses].toSorted(), ['cache_control', 'messages.reasoning', 'stop', 'top_k'])
})

test('OpenAI’s own reasoning models get their own limit and no sampling', () => {
  const { body, losses } = toChat(
    { temperature: 0.3, thinking: { type: 'enabled', budget_tokens: 2048 }, max_tokens: 99_999 },
    gpt,
  )
  assert.deepEqual(
    [body['max_completion_tokens'], body['max_tokens'], body['temperature'], body['reasoning_effort']],
    [32_000, undefined, undefined, 'low'],
  )
  assert.deepEqual(losses, ['temperature'])
  const streamed = encodeChat(decodeMessages({ model: 'm', max_tokens: 1, messages: [hi] }).turn, gpt, { stream: true })
  assert.deepEqual([streamed.body['stream'], streamed.body['stream_options']], [true, { include_usage: true }])
})

test('a foreign vendor’s reasoning goes through an Anthropic client and back byte for byte', () => {
  const part = { redacted: 'b3BhcXVl', format: 'openai-responses-v1', id: 'rs_1' }
  const messages = [
    hi,
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: '', signature: sealSignature(part) },
        { type: 'text', text: 'x' },
      ],
    },
    hi,
  ]
  const back = toChat({ messages }, { ...other, preset: 'openrouter' })
  assert.deepEqual((back.body['messages'] as { reasoning_details?: unknown }[])[1]!.reasoning_details, [
    { type: 'reasoning.encrypted', data: 'b3BhcXVl', id: 'rs_1', format: 'openai-responses-v1', index: 0 },
  ])
  // Anthropic would refuse it, so there it is left out.
  const { body, losses } = encodeMessages(decodeMessages({ model: 'm', max_tokens: 9, messages }).turn, claude, {
    stream: false,
  })
  assert.deepEqual((body['messages'] as { content: object[] }[])[1]!.content, [{ type: 'text', text: 'x' }])
  assert.deepEqual(losses, ['messages.reasoning'])
})

test('what an Anthropic model signed comes back byte for byte, also by way of OpenRouter’s shape', () => {
  const details = [
    { type: 'reasoning.text', text: 'hm', signature: 'EqQB+/==', format: 'anthropic-claude-v1', index: 0 },
    { type: 'reasoning.encrypted', data: 'b3BhcXVl', format: 'anthropic-claude-v1', index: 1 },
  ]
  const { body, losses } = toClaude({
    messages: [hi, { role: 'assistant', content: 'x', reasoning: 'hm', reasoning_details: details }, hi],
  })
  assert.deepEqual((body['messages'] as { content: object[] }[])[1]!.content, [
    { type: 'thinking', thinking: 'hm', signature: 'EqQB+/==' },
    { type: 'redacted_thinking', data: 'b3BhcXVl' },
    { type: 'text', text: 'x' },
  ])
  assert.deepEqual(losses, [])
})

test('the quirks of every Claude agree with the pinned source', () => {
  interface SourceModel {
    id: string
    compat?: {
      forceAdaptiveThinking?: boolean
      supportsMidConvoSystemMessages?: boolean
      supportsTemperature?: boolean
      supportsStrictTools?: boolean
    }
    thinkingLevelMap?: { off?: null; xhigh?: string }
  }
  const source = new URL('../catalogue/sources/pi-ai-1.5.2/anthropic.json', import.meta.url)
  const models = Object.values(
    JSON.parse(readFileSync(source, 'utf8')) as Record<string, Record<string, SourceModel>>,
  ).flatMap((group) => Object.values(group))
  assert.ok(models.length > 10)
  for (const { id, compat = {}, thinkingLevelMap: levels } of models) {
    const { adaptive, midSystem, noSampling, strictTools, alwaysThinks, xhigh } = quirksOf({ ...claude, model: id })
    assert.deepEqual(
      [id, adaptive, midSystem, noSampling, strictTools],
      [
        id,
        compat.forceAdaptiveThinking === true,
        compat.supportsMidConvoSystemMessages === true,
        compat.supportsTemperature === false,
        compat.supportsStrictTools === true,
      ],
    )
    assert.equal(alwaysThinks, levels?.off === null, id)
    if (levels) assert.equal(xhigh, levels.xhigh !== undefined, id)
  }
})

test('no request makes a translation throw anything but a refusal', () => {
  const value = fc.letrec((tie) => ({
    json: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom(
        null,
        0,
        -1,
        1.5,
        true,
        '',
        'auto',
        'user',
        'tool',
        'text',
        'function',
        'data:image/png;base64,AA',
      ),
      tie('list'),
      tie('record'),
    ),
    list: fc.array(tie('json'), { maxLength: 3 }),
    record: fc.dictionary(
      fc.constantFrom(
        'role',
        'content',
        'type',
        'text',
        'tool_calls',
        'function',
        'name',
        'id',
        'image_url',
        'url',
        'input',
        'source',
        'tool_call_id',
        'reasoning_details',
      ),
      tie('json'),
      { maxKeys: 4 },
    ),
  })).json
  const fields = fc.dictionary(
    fc.constantFrom(
      'system',
      'tools',
      'tool_choice',
      'reasoning',
      'thinking',
      'response_format',
      'stop',
      'output_config',
      'metadata',
      'temperature',
    ),
    value,
    { maxKeys: 3 },
  )
  const message = fc.record(
    { role: fc.constantFrom('user', 'assistant', 'system', 'tool'), content: value },
    { requiredKeys: [] },
  )
  fc.assert(
    fc.property(fc.array(message, { minLength: 1, maxLength: 4 }), fields, (messages, more) => {
      const body = { model: 'm', max_tokens: 2000, messages, ...more }
      for (const decode of [decodeChat, decodeMessages]) {
        refusal(() => {
          const { turn } = decode(body)
          for (const encode of [encodeChat, encodeMessages]) {
            for (const target of [claude, old, gpt, other])
              refusal(() => JSON.stringify(encode(turn, target, { stream: true })))
          }
        })
      }
    }),
    { numRuns: 1000 },
  )
})
