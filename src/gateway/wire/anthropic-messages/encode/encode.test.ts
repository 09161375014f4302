import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Target } from '../../shared/target.ts'
import { claude, hi, old, refusal, toClaude } from '../../translating.test.ts'

test('tool results of a chat become one Anthropic user message, first in it, and complete', () => {
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
          content: [{ type: 'text', text: 'This call was not made.' }],
          is_error: true,
        },
        { type: 'text', text: 'Result of the earlier tool call orphan:' },
        { type: 'text', text: 'O' },
        { type: 'text', text: 'go on' },
      ],
    },
  ])
  // Calls in the history need their tool, even if the client no longer names it.
  assert.deepEqual(body['tools'], [{ name: 'f', input_schema: { type: 'object', properties: {} } }])
  assert.equal(body['max_tokens'], 64_000)
})

test('empty messages are removed, adjacent ones are merged, and the end of an answer has no trailing white space', () => {
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

test('a system message in between stays there: natively if the model supports it, else in a tag', () => {
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

test('settings that Anthropic lacks are losses, those that it has elsewhere are moved', () => {
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

test('tools, choices, and names are translated, and changed names can be restored', () => {
  const tools = [
    { type: 'function', function: { name: 'files.read', parameters: { properties: { path: {} } } } },
    { type: 'function', name: 'flat' },
  ]
  const { body, renamed } = toClaude({
    tools,
    tool_choice: { type: 'function', function: { name: 'files.read' } },
    parallel_tool_calls: false,
  })
  const sentName = [...renamed.keys()][0]!
  assert.match(sentName, /^files_read_[0-9a-f]{10}$/)
  assert.equal(renamed.get(sentName), 'files.read')
  assert.deepEqual(body['tool_choice'], { type: 'tool', name: sentName, disable_parallel_tool_use: true })
  assert.deepEqual(body['tools'], [
    { name: sentName, input_schema: { properties: { path: {} }, type: 'object' } },
    { name: 'flat', input_schema: { type: 'object', properties: {} } },
  ])
  assert.deepEqual(toClaude({ tools, tool_choice: 'required' }).body['tool_choice'], { type: 'any' })
  const choice = {
    type: 'allowed_tools',
    allowed_tools: { mode: 'required', tools: [{ type: 'function', function: { name: 'flat' } }] },
  }
  const narrowedBody = toClaude({ tools, tool_choice: choice }).body
  assert.deepEqual([(narrowedBody['tools'] as object[]).length, narrowedBody['tool_choice']], [1, { type: 'any' }])
})

test('reasoning becomes an effort or a budget, never above the client’s output limit', () => {
  const thinking = (body: object, target: Target) => {
    const { body: sentBody, losses } = toClaude(body, target)
    return [sentBody['thinking'], sentBody['output_config'], losses, sentBody['max_tokens']]
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
  const forcedTool = { tools: [{ type: 'function', function: { name: 'f' } }], tool_choice: 'required' }
  assert.deepEqual(thinking({ reasoning_effort: 'high', ...forcedTool }, claude), [
    undefined,
    undefined,
    ['reasoning'],
    64_000,
  ])
})

test('a response schema is closed, and its unsupported keywords are losses', () => {
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
    { type: 'image_url', image_url: { url: 'data:image/jpeg;base64,iVBORw0KGgoAAAA=' } },
    { type: 'image_url', image_url: { url: 'https://example.org/a.png' } },
    file('application/pdf'),
    file('text/csv', 'YSxi'),
  ]
  const { body } = toClaude({ messages: [{ role: 'user', content }] })
  assert.deepEqual((body['messages'] as { content: object[] }[])[0]!.content, [
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgoAAAA=' } },
    { type: 'image', source: { type: 'url', url: 'https://example.org/a.png' } },
    { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'QQ==' }, title: 'a' },
    { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'a,b' }, title: 'a' },
  ])
  const zip = () => toClaude({ messages: [{ role: 'user', content: [file('application/zip')] }] })
  assert.deepEqual(refusal(zip), ['unsupported_model', 'messages.0.content.0.file.file_data'])
  const ftp = () =>
    toClaude({ messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'ftp://x' } }] }] })
  assert.deepEqual(refusal(ftp), ['invalid_parameter', 'messages.0.content.0.image_url.url'])
})

test('up to four cache marks are sent, the last ones', () => {
  const content = Array.from({ length: 6 }, (_, i) => ({
    type: 'text',
    text: `${i}`,
    cache_control: { type: 'ephemeral', ttl: i < 3 ? '1h' : '5m' },
  }))
  const { body, losses } = toClaude({ messages: [{ role: 'user', content }] })
  const marks = (body['messages'] as { content: { cache_control?: object }[] }[])[0]!.content.map(
    (block) => block.cache_control,
  )
  assert.deepEqual(marks, [
    undefined,
    undefined,
    { type: 'ephemeral', ttl: '1h' },
    ...Array.from({ length: 3 }, () => ({ type: 'ephemeral' })),
  ])
  assert.deepEqual(losses, ['cache_control'])
})

test('a one-hour mark after a five-minute mark becomes five minutes, in the order tools, system, messages, request', () => {
  const lives = [undefined, '5m', '1h'] as const
  const mark = (ttl: (typeof lives)[number]) => (ttl === undefined ? {} : { cache_control: { type: 'ephemeral', ttl } })
  const ttlOf = (block: { cache_control?: { ttl?: string } }) =>
    block.cache_control === undefined ? undefined : (block.cache_control.ttl ?? '5m')
  for (const tool of lives)
    for (const system of lives)
      for (const message of lives)
        for (const request of lives) {
          const ttls = [tool, system, message, request]
          const { body, losses } = toClaude({
            tools: [{ type: 'function', function: { name: 'f', parameters: {} }, ...mark(tool) }],
            messages: [
              { role: 'system', content: [{ type: 'text', text: 'a', ...mark(system) }] },
              { role: 'user', content: [{ type: 'text', text: 'b', ...mark(message) }] },
            ],
            ...mark(request),
          })
          const {
            tools,
            system: words,
            messages,
          } = body as unknown as {
            tools: object[]
            system: object[]
            messages: { content: object[] }[]
          }
          const sentTtls = [tools[0]!, words[0]!, messages[0]!.content[0]!, body].map(ttlOf)
          const short = ttls.indexOf('5m')
          const right = ttls.map((ttl, i) => (ttl === '1h' && short !== -1 && i > short ? '5m' : ttl))
          assert.deepEqual(
            [sentTtls, losses],
            [right, right.join() === ttls.join() ? [] : ['cache_control']],
            ttls.join(),
          )
        }
})

test('reasoning signed by Anthropic returns byte for byte, also through OpenRouter’s shape', () => {
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
