import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hi, other, refusal, toClaude } from '../../translating.test.ts'
import { decode } from './decode.ts'
import { encode } from '../encode/encode.ts'
import { isMixed } from './mixed.ts'

const decodeWith = (more: object) => decode({ model: 'm', messages: [hi], ...more })
const schema = { type: 'object', properties: { at: { type: 'number' } } }
const use = { type: 'tool_use', id: 't1', name: 'look', input: { at: 1 } }
const result = { type: 'tool_result', tool_use_id: 't1', content: 'a cat' }

test('calls and results keep Anthropic’s place: results before the user’s other content', () => {
  const messages = [
    hi,
    { role: 'assistant', content: [{ type: 'text', text: 'I look.' }, use] },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'well?' },
        { ...result, cache_control: { type: 'ephemeral' } },
      ],
    },
    { role: 'assistant', content: [{ ...use, id: 't2', input: {} }] },
    {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: 't2', is_error: true }],
    },
  ]
  const { canonical, losses } = decode({ model: 'm', messages })
  assert.deepEqual(losses, [])
  assert.deepEqual(canonical.messages.slice(1), [
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'I look.' },
        { type: 'tool_call', id: 't1', name: 'look', arguments: '{"at":1}' },
      ],
    },
    {
      role: 'tool',
      content: [
        { type: 'tool_result', id: 't1', content: [{ type: 'text', text: 'a cat' }], is_error: false, cache: '5m' },
      ],
    },
    { role: 'user', content: [{ type: 'text', text: 'well?' }] },
    { role: 'assistant', content: [{ type: 'tool_call', id: 't2', name: 'look', arguments: '{}' }] },
    { role: 'tool', content: [{ type: 'tool_result', id: 't2', content: [], is_error: true }] },
  ])
})

test('a result may contain parts of either vendor; parts a turn can’t represent are losses there too', () => {
  const parts = [
    { type: 'text', text: 'x' },
    { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
    { type: 'image', source: { type: 'url', url: 'https://example.com/b.png' } },
    { type: 'tool_reference', tool_name: 'x' },
  ]
  const messages = [
    hi,
    { role: 'assistant', content: [use] },
    { role: 'user', content: [{ ...result, content: parts }] },
  ]
  const { canonical, losses } = decode({ model: 'm', messages })
  const [resultPart] = canonical.messages[2]!.content
  assert.deepEqual(resultPart?.type === 'tool_result' && resultPart.content.map(({ type }) => type), [
    'text',
    'image',
    'image',
  ])
  assert.deepEqual(losses, ['messages.tool_reference'])
})

test('a result with only unrepresentable parts is empty, and unknown parts are refused', () => {
  const decodePart = (part: object) => {
    const answer = { role: 'user', content: [{ ...result, content: [part] }] }
    const { canonical, losses } = decodeWith({ messages: [hi, { role: 'assistant', content: [use] }, answer] })
    return [canonical.messages[2]!.content, losses]
  }
  const empty = [{ type: 'tool_result', id: 't1', content: [], is_error: false }]
  for (const type of ['tool_reference', 'container_upload', 'server_tool_use', 'tool_use', 'web_search_tool_result'])
    assert.deepEqual(decodePart({ type, tool_name: 'x' }), [empty, [`messages.${type}`]])
  const param = 'messages.2.content.0.content.0.type'
  assert.deepEqual(
    refusal(() => decodePart({ type: 'robot' })),
    ['invalid_parameter', param],
  )
})

test('ambiguous parts are not taken for a call or a result', () => {
  for (const [role, part] of [
    ['user', use],
    ['system', use],
    ['assistant', result],
    ['tool', result],
    ['assistant', { ...use, id: '' }],
    ['assistant', { ...use, name: undefined }],
    ['assistant', { ...use, input: '{"at":1}' }],
    ['user', { ...result, tool_use_id: undefined }],
    ['user', { ...result, content: { text: 'x' } }],
  ] as const) {
    const messages = [hi, { role, tool_call_id: 'c', content: [{ type: 'text', text: 'x' }, part] }]
    assert.deepEqual(decode({ model: 'm', messages }).losses, [`messages.${part.type}`], `${role} ${part.type}`)
    assert.equal(isMixed({ messages }), false)
  }
  assert.equal(isMixed({ messages: [hi, null, 1, { content: [null, 'x'] }, { role: 'user', content: null }] }), false)
  assert.equal(isMixed({ messages: 'x', tools: [null] }), false)
})

test('a call in both formats keeps its cache mark, and providers without marks lose it', () => {
  const own = { id: 't1', type: 'function', function: { name: 'look', arguments: '{"at":1}' } }
  const markedUse = { ...use, cache_control: { type: 'ephemeral', ttl: '1h' } }
  const messages = [
    hi,
    { role: 'assistant', content: [markedUse], tool_calls: [own] },
    { role: 'user', content: [result] },
  ]
  const { canonical, losses } = decodeWith({ messages })
  const call = { type: 'tool_call', id: 't1', name: 'look', arguments: '{"at":1}', cache: '1h' }
  assert.deepEqual([canonical.messages[1]!.content, losses], [[call], []])
  assert.deepEqual(toClaude({ messages }).losses, [])
  assert.deepEqual(encode(canonical, other, { stream: false }).losses, ['cache_control'])
})

test('a result in both formats is one, in either order, with the content of either', () => {
  const assistantTurn = { role: 'assistant', content: [use] }
  const own = { role: 'tool', tool_call_id: 't1', content: 'a cat' }
  const foreign = { role: 'user', content: [{ ...result, cache_control: { type: 'ephemeral' }, is_error: true }] }
  const rest = [assistantTurn, own]
  const decodeAll = (messages: object[]) => {
    const { canonical, losses } = decodeWith({ messages: [hi, ...messages] })
    return [canonical.messages.slice(1).map(({ role, content }) => [role, content.length]), losses]
  }
  const once = [
    ['assistant', 1],
    ['tool', 1],
  ]
  assert.deepEqual(decodeAll([...rest, foreign]), [once, []])
  assert.deepEqual(decodeAll([assistantTurn, foreign, own]), [once, []])
  const { canonical } = decodeWith({ messages: [hi, ...rest, foreign] })
  assert.deepEqual(canonical.messages[2]!.content, [
    { type: 'tool_result', id: 't1', content: [{ type: 'text', text: 'a cat' }], is_error: true, cache: '5m' },
  ])
  const userTurn = { role: 'user', content: [result, { type: 'text', text: 'And?' }] }
  assert.deepEqual(decodeAll([...rest, userTurn]), [[...once, ['user', 1]], []])
  const different = { role: 'user', content: [{ ...result, content: 'a dog' }] }
  assert.deepEqual(decodeAll([...rest, different]), [once, ['messages.tool_result']])
  assert.deepEqual(decodeAll([...rest, assistantTurn, foreign]), [[...once, ...once], []], 'called again')
  assert.deepEqual(decodeAll([assistantTurn, own, own]), [[...once, ['tool', 1]], []], 'OpenAI’s own are as they were')
  assert.deepEqual(decodeAll([{ role: 'user', content: [{ ...result, tool_use_id: 'gone' }] }]), [[['tool', 1]], []])
})

test('a tool message that contains its result in Anthropic’s format has that content', () => {
  const assistantTurn = { role: 'assistant', content: null, tool_calls: [{ id: 't1', function: { name: 'look' } }] }
  const chatWith = (...content: object[]) => [hi, assistantTurn, { role: 'tool', tool_call_id: 't1', content }]
  const chatWithBlock = (content: object, more: object = {}) => [
    { type: 'tool_result', id: 't1', content, is_error: false, ...more },
  ]
  const words = [{ type: 'text', text: 'a cat' }]
  for (const [block, expected] of [
    [result, chatWithBlock(words)],
    [{ ...result, content: words, is_error: true }, chatWithBlock(words, { is_error: true })],
    [{ ...result, cache_control: { type: 'ephemeral' } }, chatWithBlock(words, { cache: '5m' })],
    [{ ...result, content: undefined }, chatWithBlock([])],
  ] as const) {
    const messages = chatWith(block)
    const { canonical, losses } = decodeWith({ messages })
    assert.deepEqual([canonical.messages[2]!.content, losses], [expected, []])
    assert.ok(isMixed({ messages }))
  }
  const twice = { role: 'user', content: [result] }
  assert.deepEqual(decodeWith({ messages: [...chatWith(result), twice] }).canonical.messages.length, 3)
  for (const messages of [
    chatWith({ ...result, tool_use_id: 't2' }),
    chatWith(result, result),
    chatWith({ type: 'text', text: 'x' }, result),
  ]) {
    assert.deepEqual(decodeWith({ messages }).losses, ['messages.tool_result'])
    assert.equal(isMixed({ messages }), false)
  }
})

const imageBlock = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } }
const paper = { type: 'document', title: 'Cats', source: { type: 'text', media_type: 'text/plain', data: 'purr' } }
const searchResult = {
  type: 'search_result',
  source: 'https://x.example',
  title: 'X',
  content: [{ type: 'text', text: 'y' }],
}

test('images, documents, and search results are read in user messages, tool messages, and results', () => {
  const expectedTypes = ['image', 'text', 'text', 'text', 'text']
  const kinds = (content: { type: string }[]) => content.map(({ type }) => type)
  const content = [imageBlock, paper, searchResult]
  const own = decodeWith({ messages: [{ role: 'user', content }] })
  assert.deepEqual([kinds(own.canonical.messages[0]!.content), own.losses], [expectedTypes, []])
  for (const answer of [
    { role: 'tool', tool_call_id: 't1', content },
    { role: 'user', content: [{ ...result, content }] },
  ]) {
    const { canonical, losses } = decodeWith({ messages: [hi, { role: 'assistant', content: [use] }, answer] })
    const [result] = canonical.messages[2]!.content
    assert.deepEqual([result?.type === 'tool_result' && kinds(result.content), losses], [expectedTypes, []])
  }
  for (const part of content) assert.ok(isMixed({ messages: [{ role: 'user', content: [part] }] }))
  for (const [role, part] of [
    ['assistant', imageBlock],
    ['system', paper],
    ['user', { ...imageBlock, source: { type: 'file', file_id: 'f' } }],
    ['user', { type: 'image', image: 'https://x.example/a.png' }],
    ['user', { type: 'document', document: { data: 'x' } }],
    ['user', { ...searchResult, content: 'x' }],
  ] as const) {
    const messages = [hi, { role, content: [{ type: 'text', text: 'x' }, part] }]
    assert.deepEqual(decodeWith({ messages }).losses, [`messages.${part.type}`])
    assert.equal(isMixed({ messages }), false)
  }
})

test('sealed reasoning returns to its vendor, once, and alone doesn’t make a chat mixed', () => {
  const thinkingBlock = { type: 'thinking', thinking: 'hm', signature: 'sealed' }
  const redactedBlock = { type: 'redacted_thinking', data: 'xyz' }
  const assistantTurn = {
    role: 'assistant',
    content: [thinkingBlock, redactedBlock, { type: 'text', text: 'I look.' }, use],
  }
  const messages = [hi, assistantTurn, { role: 'user', content: [result] }]
  const { body, losses } = toClaude({ messages })
  assert.deepEqual(losses, [])
  assert.deepEqual((body['messages'] as { content: unknown }[])[1]!.content, assistantTurn.content)
  const details = [{ type: 'reasoning.text', text: 'hm', signature: 'sealed', format: 'anthropic-claude-v1' }]
  for (const more of [{ reasoning_details: details }, { reasoning_content: 'hm' }]) {
    const twice = toClaude({ messages: [hi, { ...assistantTurn, ...more }, messages[2]] })
    assert.deepEqual((twice.body['messages'] as { content: unknown }[])[1]!.content, assistantTurn.content)
    assert.deepEqual(twice.losses, [])
  }
  const unsignedDetail = { type: 'reasoning.text', text: 'hm', index: 0 }
  for (const reasoning_details of [
    [unsignedDetail],
    [unsignedDetail, ...details],
    [
      { ...unsignedDetail, text: 'h' },
      { ...unsignedDetail, text: 'm' },
    ],
  ]) {
    const { canonical } = decodeWith({ messages: [hi, { ...assistantTurn, reasoning_details }, messages[2]] })
    const thoughts = canonical.messages[1]!.content.filter(({ type }) => type === 'reasoning')
    assert.deepEqual(
      thoughts.map((part) => part.type === 'reasoning' && (part.signature ?? part.redacted)),
      ['sealed', 'xyz'],
    )
  }
  const another = decodeWith({
    messages: [hi, { ...assistantTurn, reasoning_details: [{ ...unsignedDetail, text: 'ho' }] }, messages[2]],
  })
  assert.deepEqual(another.canonical.messages[1]!.content[0], { type: 'reasoning', text: 'ho' })
  const two = [thinkingBlock, { ...thinkingBlock, thinking: 'ho', signature: 'again' }]
  const joinedDetail = [{ ...unsignedDetail, text: 'hmho' }]
  const once = decodeWith({
    messages: [hi, { role: 'assistant', content: [...two, use], reasoning_details: joinedDetail }],
  })
  assert.equal(once.canonical.messages[1]!.content.length, 3)
  const alone = [hi, { role: 'assistant', content: [thinkingBlock, { type: 'text', text: 'ho' }] }, hi]
  assert.equal(isMixed({ messages: alone }), false)
  for (const other of [
    { ...thinkingBlock, signature: undefined },
    { type: 'thinking', thinking: [{ type: 'text', text: 'x' }] },
  ]) {
    const { losses } = decodeWith({
      messages: [hi, { role: 'assistant', content: [other, { type: 'text', text: 'x' }] }, hi],
    })
    assert.deepEqual(losses, ['messages.thinking'])
  }
})

test('Anthropic’s system prompt beside the messages of a mixed chat is used; otherwise it is a loss', () => {
  const tools = [{ name: 'look', input_schema: schema }]
  const markedSystem = [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }]
  const decodeSystem = (system: unknown, more: object = { tools }) => {
    const { canonical, losses } = decodeWith({ system, ...more })
    return [canonical.messages.length === 1 ? null : canonical.messages[0], losses]
  }
  const words = { type: 'text', text: 'Be brief.' }
  assert.deepEqual(decodeSystem('Be brief.'), [{ role: 'system', content: [words] }, []])
  assert.deepEqual(decodeSystem(markedSystem), [{ role: 'system', content: [{ ...words, cache: '5m' }] }, []])
  assert.deepEqual(decodeSystem('Be brief.', {}), [null, ['system']])
  for (const wrong of [{ text: 'x' }, ['x'], [{ type: 'image' }], 1])
    assert.deepEqual(decodeSystem(wrong), [null, ['system']])
})

test('OpenAI’s own chats are never mixed, with any words and names in them', () => {
  const parameters = {
    type: 'object',
    properties: { input_schema: schema, type: { type: 'string' } },
    input_schema: {},
  }
  const words = JSON.stringify([use, result, imageBlock, { name: 'x', input_schema: schema }])
  assert.equal(
    isMixed({
      tools: [
        { type: 'function', function: { name: 'look', parameters, input_schema: schema } },
        { type: 'custom', custom: { name: 'write', format: { type: 'text' } } },
        { type: 'openrouter:web_search', name: 'x' },
      ],
      tool_choice: 'required',
      response_format: { type: 'json_schema', json_schema: { name: 'tool_use', schema: parameters } },
      messages: [
        { role: 'developer', content: words },
        {
          role: 'user',
          content: [
            { type: 'text', text: words, source: imageBlock.source, tool_use_id: 't1' },
            { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
            { type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } },
            { type: 'file', file: { file_id: 'f' } },
          ],
        },
        {
          role: 'assistant',
          content: [{ type: 'refusal', refusal: words }],
          tool_calls: [{ type: 'function', id: 't1' }],
        },
        { role: 'tool', tool_call_id: 't1', content: [{ type: 'text', text: words }] },
      ],
    }),
    false,
  )
})
