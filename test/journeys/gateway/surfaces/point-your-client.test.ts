/** Every example of the guide, and the requests of the two programs that aren't installed here. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { temporaryDir } from '../../../program.ts'
import { startAnthropic } from '../../../vendors/anthropic/anthropic.ts'
import { startGemini } from '../../../vendors/gemini/gemini.ts'
import { startOllama } from '../../../vendors/ollama/ollama.ts'
import { startOpenAI } from '../../../vendors/openai/openai.ts'
import type { Json, Vendor } from '../../../vendors/vendor.ts'
import { type World, gatewayWorld, pricedModel } from '../world.ts'

const root = join(import.meta.dirname, '../../../..')
const guide = readFileSync(join(root, 'docs/guides/point-your-client-here.md'), 'utf8')
const run = promisify(execFile)

let world: World
let openai: Vendor
let anthropic: Vendor
let gemini: Vendor
let ollama: Vendor
before(async () => {
  openai = await startOpenAI()
  anthropic = await startAnthropic()
  gemini = await startGemini()
  ollama = await startOllama()
  world = await gatewayWorld()
  const tools = { capabilities: ['tools'] }
  const models = [pricedModel('gpt-4o-mini', tools), pricedModel('text-embedding-3-small')]
  await world.bring(openai, 'openai', { models })
  await world.bring(openai, 'responses', { shape: 'openai-responses', models: [pricedModel('gpt-4o', tools)] })
  const thinks = { capabilities: ['tools', 'reasoning'] }
  await world.bring(anthropic, 'anthropic', {
    shape: 'anthropic-messages',
    models: [pricedModel('claude-sonnet-5-5', thinks)],
  })
  await world.bring(gemini, 'gemini', {
    shape: 'gemini',
    base_url: `${gemini.origin}/v1beta`,
    models: [pricedModel('gemini-3.8-flash', thinks)],
  })
  await world.bring(ollama, 'ollama', {
    shape: 'ollama',
    base_url: ollama.origin,
    models: [pricedModel('llama3.2', tools)],
  })
})
after(async () => {
  await world[Symbol.asyncDispose]()
  await openai[Symbol.asyncDispose]()
  await anthropic[Symbol.asyncDispose]()
  await gemini[Symbol.asyncDispose]()
  await ollama[Symbol.asyncDispose]()
})

/** Returns the only code block of this language in a section, with this server's address. */
function block(heading: string, language: string): string {
  const section = guide.split(/^## /m).find((part) => part.startsWith(`${heading}\n`))
  const code = section?.match(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``))?.[1]
  assert.ok(code, `the guide has ${language} under ${heading}`)
  return code.replaceAll('http://127.0.0.1:4242', world.server.origin)
}

const environment = () => ({ PATH: process.env.PATH, UK_KEY: world.key.key })

async function runExample(heading: string): Promise<string[]> {
  using folder = temporaryDir('ukiyo-guide-')
  const program = join(folder.path, 'example.mjs')
  // The path of the packages: readers have them installed beside the program.
  const code = block(heading, 'js').replaceAll(
    /from '([^']+)'/g,
    (_, name: string) => `from '${import.meta.resolve(name)}'`,
  )
  writeFileSync(program, code)
  const { stdout } = await run(process.execPath, [program], { env: environment() })
  return stdout.trimEnd().split('\n')
}

const examples: Record<string, string[]> = {
  'OpenAI SDK': ['Hello from chat completions', 'Hello from responses', '8'],
  'Anthropic SDK': ['Hello from messages', 'true'],
  'OpenRouter clients': ['Hello from OpenRouter'],
  'AI SDK': ['Hello from the AI SDK', '2'],
  LangChain: ['Hello from ChatOpenAI', 'Hello from its responses', 'weather', 'Hello from ChatAnthropic', '1536'],
}
for (const [heading, lines] of Object.entries(examples))
  test(`the guide's example works: ${heading}`, async () => {
    assert.deepEqual(await runExample(heading), lines)
  })

test("the guide's example works: Curl", async () => {
  const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', block('Curl', 'sh')], { env: environment() })
  assert.equal((JSON.parse(stdout) as Json)['output'][0].content[0].text, 'Hello from curl')
})

/** A model at a provider of each shape, and its fake. */
const models: Record<string, () => Vendor> = {
  'anthropic/claude-sonnet-5-5': () => anthropic,
  'openai/gpt-4o-mini': () => openai,
  'responses/gpt-4o': () => openai,
  'gemini/gemini-3.8-flash': () => gemini,
  'ollama/llama3.2': () => ollama,
}
const schema = {
  type: 'object',
  properties: { command: { type: 'string' } },
  required: ['command'],
  additionalProperties: false,
}

/** The `data:` lines of a stream. */
const eventsOf = (text: string): Json[] =>
  [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data]) => JSON.parse(data!) as Json)

test('requests of Claude Code 2.1.329 are served by every shape, and its parallel results are put in order', async () => {
  const body = (model: string, messages: Json[]) => ({
    model,
    max_tokens: 64_000,
    stream: true,
    system: [{ type: 'text', text: 'You are an agent.', cache_control: { type: 'ephemeral' } }],
    messages,
    tools: [
      {
        name: 'Bash',
        description: 'Runs a command.',
        input_schema: { $schema: 'https://json-schema.org/draft/2020-12/schema', ...schema },
      },
      { name: 'DeferredToolPlaceholder', input_schema: { type: 'object', properties: {} }, defer_loading: true },
    ],
    thinking: { type: 'adaptive', display: 'omitted' },
    context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
    output_config: { effort: 'high' },
    metadata: { user_id: JSON.stringify({ device_id: 'd', session_id: 's' }) },
  })
  const headers = {
    'anthropic-version': '2023-06-01',
    'anthropic-beta': 'claude-code-20250219,context-management-2025-06-27,effort-2025-11-24',
    'x-app': 'cli',
    'x-claude-code-session-id': 's',
  }
  for (const [model, vendorOf] of Object.entries(models)) {
    const command = { command: 'ls' }
    vendorOf().script({
      reply: {
        tools: [
          { id: 'toolu_1', name: 'Bash', arguments: command },
          { id: 'toolu_2', name: 'Bash', arguments: command },
        ],
      },
    })
    const requestMessages = [
      {
        role: 'user',
        content: [
          { type: 'text', text: '<system-reminder>x</system-reminder>' },
          { type: 'text', text: 'ls' },
        ],
      },
      { role: 'system', content: 'Be careful.' },
    ]
    const first = await world.key.post('/compat-b/v1/messages?beta=true', body(model, requestMessages), headers)
    assert.equal(first.status, 200, `${model}: ${first.text}`)
    const starts = eventsOf(first.text).flatMap((event) =>
      event['type'] === 'content_block_start' && event['content_block'].type === 'tool_use'
        ? [event['content_block']]
        : [],
    )
    assert.deepEqual(
      starts.map(({ id }) => id),
      ['toolu_1', 'toolu_2'],
      model,
    )
    const uses = starts.map(({ id, name }) => ({ type: 'tool_use', id, name, input: command }))
    const results = ['toolu_2', 'toolu_1'].map((id) => ({
      type: 'tool_result',
      tool_use_id: id,
      content: id,
      is_error: false,
    }))
    const history = [requestMessages[0]!, { role: 'assistant', content: uses }, { role: 'user', content: results }]
    const second = await world.key.post('/compat-b/v1/messages?beta=true', body(model, history), headers)
    assert.equal(second.status, 200, `${model}: ${second.text}`)
    assert.match(second.text, /event: message_stop/)
  }
})

test('requests of Codex 0.169.0 are served by every shape, and it receives everything it waits for', async () => {
  const tools = [
    { type: 'function', name: 'exec_command', strict: false, parameters: schema },
    { type: 'custom', name: 'apply_patch', format: { type: 'grammar', syntax: 'lark', definition: 'start: /.+/' } },
    {
      type: 'namespace',
      name: 'agents',
      description: 'x',
      tools: [{ type: 'function', name: 'spawn', strict: false, parameters: schema }],
    },
    { type: 'web_search', external_web_access: false },
  ]
  const body = (model: string, input: Json[]) => ({
    model,
    input,
    tools,
    tool_choice: 'auto',
    parallel_tool_calls: true,
    reasoning: null,
    store: false,
    stream: true,
    include: ['reasoning.encrypted_content'],
    prompt_cache_key: 'thread',
    client_metadata: { 'x-codex-installation-id': 'i' },
  })
  const headers = { originator: 'codex_exec', 'session-id': 's', 'thread-id': 't', 'x-codex-window-id': 'w' }
  const say = (role: string, text: string) => ({ type: 'message', role, content: [{ type: 'input_text', text }] })
  const requestItems = [say('developer', 'You are an agent.'), say('user', '<environment_context/>'), say('user', 'ls')]
  for (const [model, vendorOf] of Object.entries(models)) {
    const call = { name: 'exec_command', arguments: { command: 'ls' } }
    vendorOf().script({
      reply: {
        text: 'Looking.',
        tools: [
          { id: 'c1', ...call },
          { id: 'c2', ...call },
        ],
      },
    })
    const first = await world.key.post('/compat-a/v1/responses', body(model, requestItems), headers)
    assert.equal(first.status, 200, `${model}: ${first.text}`)
    const events = eventsOf(first.text)
    const items = events.flatMap((event) => (event['type'] === 'response.output_item.done' ? [event['item']] : []))
    assert.deepEqual(
      items.flatMap(({ type }) => (type === 'reasoning' ? [] : [type])),
      ['message', 'function_call', 'function_call'],
      model,
    )
    assert.equal(events.at(-1)?.['type'], 'response.completed')
    const results = ['c2', 'c1'].map((call_id) => ({ type: 'function_call_output', call_id, output: call_id }))
    const second = await world.key.post(
      '/compat-a/v1/responses',
      body(model, [...requestItems, ...items, ...results]),
      headers,
    )
    assert.equal(second.status, 200, `${model}: ${second.text}`)
    assert.equal(eventsOf(second.text).at(-1)?.['type'], 'response.completed')
  }
})
