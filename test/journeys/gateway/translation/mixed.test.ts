import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startAnthropic } from '../../../vendors/anthropic/anthropic.ts'
import { startOpenAI } from '../../../vendors/openai/openai.ts'
import type { Vendor } from '../../../vendors/vendor.ts'
import { type World, gatewayWorld, pricedModel, userMessages } from '../world.ts'

let world: World
let claude: Vendor
let gpt: Vendor

before(async () => {
  claude = await startAnthropic()
  gpt = await startOpenAI()
  world = await gatewayWorld()
  const asAnthropic = { shape: 'anthropic-messages', base_url: claude.origin }
  await world.bring(claude, 'an', { ...asAnthropic, models: [pricedModel('claude-haiku-4-5')] })
  await world.bring(gpt, 'oa', { preset: 'openai', models: [pricedModel('gpt-4o')] })
})
after(async () => {
  await world[Symbol.asyncDispose]()
  await claude[Symbol.asyncDispose]()
  await gpt[Symbol.asyncDispose]()
})

const sentTo = (vendor: Vendor) => vendor.requests.findLast(({ method }) => method === 'POST')!.json()
const strict = { 'x-uk-strict': '1' }
const schema = { type: 'object', properties: { city: { type: 'string' } } }
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const picture = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } }

const use = (id: string, city: string) => ({ type: 'tool_use', id, name: 'weather', input: { city } })
const result = (tool_use_id: string, content: unknown, more: object = {}) => ({
  type: 'tool_result',
  tool_use_id,
  content,
  ...more,
})
/** A chat with Claude as Cursor writes it to an OpenAI-shaped address. */
const conversation = {
  max_tokens: 64,
  tools: [{ name: 'weather', description: 'Now', input_schema: schema }],
  tool_choice: { type: 'auto', disable_parallel_tool_use: true },
  messages: [
    { role: 'system', content: 'Be brief.' },
    ...userMessages('Weather in Kyōto and Oslo?'),
    {
      role: 'assistant',
      content: [{ type: 'text', text: 'I look.' }, use('toolu_1', 'Kyōto'), use('toolu_2', 'Oslo')],
    },
    {
      role: 'user',
      content: [
        result('toolu_1', 'Cold.'),
        result('toolu_2', [{ type: 'text', text: 'Broken' }, picture], { is_error: true }),
        { type: 'text', text: 'And?' },
      ],
    },
  ],
}

for (const surface of ['compat-a', 'compat-c'])
  test(`Anthropic's calls, results, and tools in a chat of ${surface} reach every provider complete`, async () => {
    const ask = async (model: string) => {
      const answer = await world.key.post(`/${surface}/v1/chat/completions`, { model, ...conversation }, strict)
      assert.equal(answer.status, 200, answer.text)
      assert.equal(answer.headers.get('x-uk-losses'), null)
      assert.equal(answer.body.object, 'chat.completion')
    }
    await ask('oa/gpt-4o')
    const chat = sentTo(gpt)
    assert.deepEqual(chat['tools'], [
      { type: 'function', function: { name: 'weather', description: 'Now', parameters: schema } },
    ])
    assert.deepEqual([chat['tool_choice'], chat['parallel_tool_calls']], ['auto', false])
    const [, , callMessage, cold, errorMessage, next] = chat['messages']
    const calledAs = (id: string, city: string) => ({
      id,
      type: 'function',
      function: { name: 'weather', arguments: JSON.stringify({ city }) },
    })
    assert.deepEqual(callMessage, {
      role: 'assistant',
      content: 'I look.',
      tool_calls: [calledAs('toolu_1', 'Kyōto'), calledAs('toolu_2', 'Oslo')],
    })
    assert.deepEqual(cold, { role: 'tool', tool_call_id: 'toolu_1', content: 'Cold.' })
    assert.match(errorMessage.content, /^Error: Broken\n/)
    assert.deepEqual([errorMessage.role, errorMessage.tool_call_id], ['tool', 'toolu_2'])
    assert.match(JSON.stringify(next), /image_url.*base64/)
    assert.match(JSON.stringify(chat['messages'].slice(5)), /And\?/)

    await ask('an/claude-haiku-4-5')
    const body = sentTo(claude)
    assert.deepEqual(body['tools'], conversation.tools)
    assert.deepEqual(body['tool_choice'], conversation.tool_choice)
    assert.deepEqual(body['messages'].slice(1), conversation.messages.slice(2).map(withTexts))
  })
/** Anthropic accepts text as a string or as blocks; the gateway writes blocks. */
const withTexts = ({ role, content }: (typeof conversation.messages)[number]) => ({
  role,
  content: (content as { content?: unknown }[]).map((block) =>
    typeof block.content === 'string' ? { ...block, content: [{ type: 'text', text: block.content }] } : block,
  ),
})

test('Anthropic’s tool choice among OpenAI’s tools reaches every provider, and OpenAI’s own passes unchanged', async () => {
  const tools = [{ type: 'function', function: { name: 'weather', parameters: schema } }]
  const ask = async (model: string, tool_choice: object) => {
    const body = { model, max_tokens: 64, messages: userMessages('Weather?'), tools, tool_choice }
    const answer = await world.key.post('/compat-a/v1/chat/completions', body, strict)
    assert.equal(answer.status, 200, answer.text)
    return sentTo(model.startsWith('oa/') ? gpt : claude)
  }
  assert.equal((await ask('oa/gpt-4o', { type: 'any' }))['tool_choice'], 'required')
  assert.deepEqual((await ask('an/claude-haiku-4-5', { type: 'any' }))['tool_choice'], { type: 'any' })
  const own = { type: 'function', function: { name: 'weather' } }
  const sentBody = await ask('oa/gpt-4o', own)
  assert.deepEqual(
    [sentBody['tool_choice'], sentBody['tools'], sentBody['messages']],
    [own, tools, userMessages('Weather?')],
  )
})

test('content beside calls and results is carried too: instructions, reasoning, images, and search results', async () => {
  const thinkingBlock = { type: 'thinking', thinking: 'Where is it?', signature: 'c2VhbGVk' }
  const find = {
    type: 'search_result',
    source: 'https://x.example',
    title: 'Cold',
    content: [{ type: 'text', text: '3°' }],
  }
  const body = {
    max_tokens: 64,
    system: 'Be brief.',
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'Where?' }, picture] },
      { role: 'assistant', content: [thinkingBlock, use('toolu_1', 'Oslo')] },
      { role: 'user', content: [result('toolu_1', [find]), picture] },
    ],
  }
  const ask = (model: string, headers = {}) =>
    world.key.post('/compat-a/v1/chat/completions', { model, ...body }, headers)
  const answer = await ask('an/claude-haiku-4-5', strict)
  assert.equal(answer.status, 200, answer.text)
  const { system, messages } = sentTo(claude)
  assert.deepEqual(system, [{ type: 'text', text: 'Be brief.' }])
  assert.deepEqual([messages[0], messages[1]], [body.messages[0], body.messages[1]])
  assert.deepEqual(messages[2].content[1], picture)
  assert.match(JSON.stringify(messages[2].content[0]), /https:\/\/x\.example.*3°/)
  const sentBody = await ask('oa/gpt-4o')
  assert.deepEqual([sentBody.status, sentBody.headers.get('x-uk-losses')], [200, 'messages.reasoning'], sentBody.text)
  const chat = sentTo(gpt)['messages']
  assert.deepEqual(chat[0], { role: 'system', content: 'Be brief.' })
  assert.equal(chat[1].content[1].image_url.url, `data:image/png;base64,${png}`)
  assert.match(chat[3].content, /https:\/\/x\.example.*\n3°/)
  assert.equal(chat[4].content[0].type, 'image_url')
})

test('an Anthropic image block is an image at OpenAI', async () => {
  const body = { model: 'oa/gpt-4o', messages: [{ role: 'user', content: [picture] }] }
  const answer = await world.key.post('/compat-c/v1/chat/completions', body, strict)
  assert.equal(answer.status, 200, answer.text)
  assert.equal(sentTo(gpt)['messages'][0].content[0].type, 'image_url')
})

test('blocks only in the history are read too, and a call or result in both formats is one', async () => {
  const { tools: _, tool_choice: __, ...rest } = conversation
  const [system, user, , results] = conversation.messages
  const twice = {
    role: 'assistant',
    content: [use('toolu_1', 'Kyōto')],
    tool_calls: [
      { id: 'toolu_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Kyōto"}' } },
      { id: 'toolu_2', type: 'function', function: { name: 'weather', arguments: '{"city":"Oslo"}' } },
    ],
  }
  const cold = { role: 'tool', tool_call_id: 'toolu_1', content: 'Cold.' }
  const body = { ...rest, messages: [system, user, twice, cold, results], model: 'oa/gpt-4o' }
  const answer = await world.key.post('/compat-a/v1/chat/completions', body, strict)
  assert.equal(answer.status, 200, answer.text)
  assert.deepEqual(
    sentTo(gpt)['messages'][2].tool_calls.map(({ id }: { id: string }) => id),
    ['toolu_1', 'toolu_2'],
  )
  assert.deepEqual(sentTo(gpt)['messages'][3], cold)
  assert.equal(JSON.stringify(sentTo(gpt)).match(/Cold\./g)?.length, 1)
})

test('ambiguous calls and results stay unchanged: a loss on the way to Claude, the client’s own bytes to OpenAI', async () => {
  for (const message of [
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'x' },
        { type: 'tool_use', name: 'weather', input: {} },
      ],
    },
    { role: 'user', content: [{ type: 'text', text: 'x' }, { ...use('toolu_1', 'Oslo') }] },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'x' },
        { type: 'tool_result', content: 'x' },
      ],
    },
  ]) {
    const ask = (model: string, headers = {}) =>
      world.key.post(
        '/compat-a/v1/chat/completions',
        { model, max_tokens: 9, messages: [...userMessages('hi'), message, ...userMessages('go on')] },
        headers,
      )
    const { type } = message.content[1]!
    const sentBody = await ask('an/claude-haiku-4-5')
    assert.deepEqual([sentBody.status, sentBody.headers.get('x-uk-losses')], [200, `messages.${type}`], sentBody.text)
    assert.equal((await ask('an/claude-haiku-4-5', strict)).status, 400)
    assert.equal((await ask('oa/gpt-4o')).status, 400)
    assert.deepEqual(sentTo(gpt)['messages'][1], message)
  }
})

test('results in either format reach the model before the user’s other content', async () => {
  const body = {
    max_tokens: 64,
    tools: conversation.tools,
    messages: [
      ...userMessages('Weather?'),
      {
        role: 'assistant',
        content: [use('toolu_1', 'Kyōto')],
        tool_calls: [
          { id: 'toolu_2', type: 'function', function: { name: 'weather', arguments: '{"city":"Oslo"}' } },
          { id: 'toolu_3', type: 'function', function: { name: 'weather', arguments: '{"city":"Bern"}' } },
        ],
      },
      { role: 'user', content: [result('toolu_1', 'Cold.'), { type: 'text', text: 'And?' }] },
      { role: 'tool', tool_call_id: 'toolu_2', content: 'Wet.' },
      { role: 'tool', tool_call_id: 'toolu_3', content: [result('toolu_3', 'Warm.')] },
    ],
  }
  const ask = async (model: string) => {
    const answer = await world.key.post('/compat-a/v1/chat/completions', { model, ...body }, strict)
    assert.equal(answer.status, 200, answer.text)
  }
  const words = [
    ['toolu_1', 'Cold.'],
    ['toolu_2', 'Wet.'],
    ['toolu_3', 'Warm.'],
  ] as const
  await ask('oa/gpt-4o')
  assert.deepEqual(sentTo(gpt)['messages'].slice(2), [
    ...words.map(([tool_call_id, content]) => ({ role: 'tool', tool_call_id, content })),
    ...userMessages('And?'),
  ])
  await ask('an/claude-haiku-4-5')
  assert.deepEqual(sentTo(claude)['messages'][2].content, [
    ...words.map(([id, text]) => result(id, [{ type: 'text', text }])),
    { type: 'text', text: 'And?' },
  ])
})
