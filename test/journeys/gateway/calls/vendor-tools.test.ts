import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import type { Caller } from '../../../server.ts'
import { serve } from '../../../vendors/server.ts'
import type { Vendor } from '../../../vendors/vendor.ts'
import { type World, gatewayWorld, pricedModel, userMessages } from '../world.ts'

const packages = new URL('../../../../node_modules/', import.meta.url)
const readTypes = (path: string): string =>
  readFileSync(new URL(path, packages), 'utf8').replaceAll(/\/\*[\s\S]*?\*\//g, '')

/** Reads the types of request tools from the SDK, for each member of a union and nested unions. */
function toolTypes(file: string, union: string): string[] {
  const text = readTypes(file)
  const members = (name: string): string[] => {
    const match = new RegExp(`export type ${name} = ([\\w\\s.|]+);`).exec(text)
    return match === null ? [name] : match[1]!.split('|').flatMap((each) => members(each.trim()))
  }
  return members(union).flatMap((member) => {
    const start = new RegExp(`\\binterface ${member.split('.').at(-1)!} \\{`).exec(text)
    assert.ok(start, `${member} is gone from ${file}`)
    // Only the interface's own fields, which are indented by one level.
    const indent = member.includes('.') ? '        ' : '    '
    const body = text.slice(start.index).split(`\n${indent.slice(4)}}`)[0]!
    const own = body.split('\n').find((line) => line.startsWith(`${indent}type`))
    return [...(own ?? '').matchAll(/'([^']+)'/g)].map(([, type]) => type!)
  })
}

/** Tools whose calls clients answer themselves. The vendor runs all others and feeds the results to the model. */
const BY_CLIENT =
  /^(?:function|custom|namespace|local_shell|apply_patch|computer|computer_use_preview|bash_.*|text_editor_.*|memory_.*|computer_\d+|computer_toolset_.*|browser_toolset_.*)$/

const surfaces = {
  responses: {
    path: '/compat-a/v1/responses',
    more: { input: 'hello', max_output_tokens: 20 },
    types: toolTypes('openai/resources/responses/responses.d.ts', 'Tool'),
  },
  chat: {
    path: '/compat-a/v1/chat/completions',
    more: { messages: userMessages('hello'), max_tokens: 20 },
    types: ['function', 'custom', 'web_search', 'browser_search', 'openrouter:web_search', 'something_new'],
  },
  messages: {
    path: '/compat-b/v1/messages',
    more: { messages: userMessages('hello'), max_tokens: 20 },
    types: [
      ...toolTypes('@anthropic-ai/sdk/resources/messages/messages.d.ts', 'ToolUnion'),
      ...toolTypes('@anthropic-ai/sdk/resources/beta/messages/messages.d.ts', 'BetaToolUnion'),
    ],
  },
}

let world: World
let vendor: Vendor
/** Can afford a short question, but not one as long as the model's context. */
let cappedKey: Caller

before(async () => {
  world = await gatewayWorld()
  const refusal = { status: 400, body: { error: { type: 'invalid_request_error', message: 'not today' } } }
  vendor = await serve({ key: 'sk-x', answer: () => refusal, failure: () => refusal, headers: () => ({}) })
  cappedKey = await world.person.key({ spend_cap_usd: 0.05, spend_cap_period: 'day' })
  const models = [pricedModel('m', { context_length: 100_000 })]
  await world.bring(vendor, 'responses', { shape: 'openai-responses', models })
  await world.bring(vendor, 'chat', { models })
  await world.bring(vendor, 'messages', { shape: 'anthropic-messages', base_url: vendor.origin, models })
})
after(async () => {
  await world[Symbol.asyncDispose]()
  await vendor[Symbol.asyncDispose]()
})

for (const [name, { path, more, types }] of Object.entries(surfaces)) {
  const ask = async (fields: object) => (await cappedKey.post(path, { model: `${name}/m`, ...more, ...fields })).status

  test(`${name}: a vendor-run tool reserves the model's full context, a client tool only its text`, async () => {
    assert.ok(types.length >= 6, types.join(' '))
    assert.equal(await ask({}), 400, 'what is asked without tools reaches the vendor')
    for (const type of new Set(types)) {
      const own = BY_CLIENT.test(type)
      const tool = { type, name: 'tool', function: { name: 'tool' }, custom: { name: 'tool' } }
      assert.equal(await ask({ tools: [tool] }), own ? 400 : 402, type)
      if (own) assert.equal(await ask({ tools: [tool, { type: 'web_search' }] }), 402, `${type} and another`)
    }
  })

  test(`${name}: so does a field that makes the vendor look something up`, async () => {
    for (const field of [
      { web_search_options: {} },
      { search_parameters: { mode: 'on' } },
      { mcp_servers: [{ type: 'url', url: 'https://example.com', name: 'x' }] },
      { plugins: [{ id: 'web' }] },
    ])
      assert.equal(await ask(field), 402, JSON.stringify(field))
    assert.equal(await ask({ plugins: [], mcp_servers: [], web_search_options: null }), 400)
  })
}

test('a shell and a tool search count as the vendor’s unless marked as the client’s', async () => {
  const ask = async (tool: object) =>
    (await cappedKey.post(surfaces.responses.path, { model: 'responses/m', ...surfaces.responses.more, tools: [tool] }))
      .status
  assert.equal(await ask({ type: 'shell', environment: { type: 'local' } }), 400)
  assert.equal(await ask({ type: 'shell' }), 402)
  assert.equal(await ask({ type: 'tool_search', execution: 'client' }), 400)
  assert.equal(await ask({ type: 'tool_search' }), 402)
  const inner = { type: 'function', name: 'f', parameters: {} }
  assert.equal(await ask({ type: 'namespace', name: 'n', description: 'd', tools: [inner] }), 400)
  assert.equal(await ask({ type: 'namespace', name: 'n', description: 'd', tools: [{ type: 'mcp' }] }), 402)
})
