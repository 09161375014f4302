import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { after, before, test } from 'node:test'
import { call, results, script } from '../../../chats/chats.ts'
import { type Person, type TestServer, testServer } from '../../../server.ts'
import { until } from '../../../until.ts'
import { startRaw, writeAnswer } from '../../../vendors/raw.ts'
import { type Twice, startTwice } from '../../../vendors/twice.ts'

const ROUNDS = 64

let server: TestServer
let alice: Person
let bob: Person

before(async () => {
  server = await testServer({
    environment: { UK_UPSTREAM_ALLOW: '127.0.0.0/8', UK_FETCH_ALLOW: '127.0.0.0/8', UK_SIGN_UP_CREDITS_USD: '50' },
  })
  alice = await server.person('Alice')
  bob = await server.person('Bob')
})
after(() => server[Symbol.asyncDispose]())

/**
 * Alternates Alice and Bob; reading the other's word means receiving the other's answer. Within 30 ms, so that the
 * second copy of one answer is still pending when the other calls.
 */
async function inTurns(ask: (who: Person, word: string) => Promise<string>): Promise<void> {
  let wrong = 0
  for (let round = 0; round < ROUNDS; round++) {
    const who = round % 2 === 0 ? alice : bob
    const text = await ask(who, `${who.name.toLowerCase()}-${round}-`)
    const other = round % 2 === 0 ? 'bob-' : 'alice-'
    if (text.includes(other)) wrong++
  }
  assert.equal(wrong, 0, `${wrong} of ${ROUNDS} answers were the other’s`)
}

/** A model that echoes its prompt in OpenAI's shape, whole or as a stream. */
const startEcho = (): Promise<Twice> =>
  startTwice(({ path, body }) => {
    if (path === '/v1/models') return { body: JSON.stringify({ object: 'list', data: [] }) }
    const { messages, stream } = JSON.parse(body)
    const { content } = messages.at(-1)
    const text = typeof content === 'string' ? content : content[0].text
    const head = { id: 'x', created: 1, model: 'echo' }
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
    if (stream !== true) {
      const message = { role: 'assistant', content: text }
      const choices = [{ index: 0, message, finish_reason: 'stop' }]
      return { body: JSON.stringify({ ...head, object: 'chat.completion', choices, usage }) }
    }
    const object = 'chat.completion.chunk'
    const frames = [
      { ...head, object, choices: [{ index: 0, delta: { role: 'assistant', content: text }, finish_reason: null }] },
      { ...head, object, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage },
    ]
    const lines = [...frames.map((frame) => JSON.stringify(frame)), '[DONE]'].map((data) => `data: ${data}\n\n`)
    return { type: 'text/event-stream', body: lines.join('') }
  })

test('a provider that answers twice leaks no account’s answer to another, on any route', async () => {
  const keys = new Map([
    [alice, await alice.key()],
    [bob, await bob.key()],
  ])
  const userMessages = (content: string) => [{ role: 'user', content }]
  const ways: Record<string, (who: Person, word: string, model: string) => Promise<{ status: number; text: string }>> =
    {
      passed: (who, word, model) =>
        keys.get(who)!.post('/compat-a/v1/chat/completions', { model, messages: userMessages(word) }),
      'passed, as a stream': (who, word, model) =>
        keys.get(who)!.post('/compat-a/v1/chat/completions', { model, messages: userMessages(word), stream: true }),
      translated: (who, word, model) =>
        keys.get(who)!.post('/compat-b/v1/messages', { model, max_tokens: 9, messages: userMessages(word) }),
      'asked by the platform': (who, word, model) =>
        who.post('/inference/text', { model, messages: userMessages(word) }),
    }
  let misplacedCount = 0
  for (const [way, ask] of Object.entries(ways)) {
    await using vendor = await startEcho()
    const slug = `shared-${way.replace(/\W+/g, '-')}`
    const endpoint = await alice.post('/ai-gateway/provider-endpoints', {
      name: way,
      slug,
      shape: 'openai-chat',
      base_url: `${vendor.origin}/v1`,
      api_key: 'sk-shared',
      instance: true,
      models: [{ id: 'echo', pricing: { input: 0, output: 0 } }],
    })
    assert.equal(endpoint.status, 201, endpoint.text)
    await inTurns(async (who, word) => {
      const answer = await ask(who, word, `${slug}/echo`)
      assert.equal(answer.status, 200, `${way}: ${answer.text}`)
      return answer.text
    })
    misplacedCount += vendor.misplaced
  }
  // Across all routes, because a slow machine misses the worst case of one of them.
  assert.ok(misplacedCount > 0, 'connections are used again')
})

test('a page served twice isn’t another account’s page', async () => {
  await using site = await startTwice(({ path }) =>
    path === '/robots.txt' ? { type: 'text/plain', body: '' } : { type: 'text/plain', body: `This is ${path}` },
  )
  await inTurns(async (who, word) => {
    const answer = await who.post('/web/fetch', { url: `${site.origin}/${word}` })
    assert.equal(answer.status, 200, answer.text)
    return answer.text
  })
})

test('a webhook receiver’s second answer appears in no other account’s deliveries', async () => {
  await using hook = await startTwice(({ path }) => ({ type: 'text/plain', body: `Thanks, ${path}` }))
  const ends = new Map<Person, string>()
  for (const who of [alice, bob]) {
    const url = `${hook.origin}/${who.name.toLowerCase()}-`
    const webhook = await who.post('/webhook-endpoints', {
      workspace_id: who.workspaceId,
      name: 'Ours',
      url,
      events: ['*'],
    })
    assert.equal(webhook.status, 201, webhook.text)
    ends.set(who, `/webhook-endpoints/${webhook.body.data.id}`)
  }
  await inTurns(async (who) => {
    const at = ends.get(who)!
    const { id } = (await who.post(`${at}/test`, {})).body.data
    const { body } = await until(
      () => who.get(`${at}/deliveries?limit=100`),
      ({ body }) => body.data.find((one: { id: string }) => one.id === id)?.attempts.length > 0,
    )
    return JSON.stringify(body.data.map(({ attempts }: { attempts: object[] }) => attempts))
  })
})

test('an external server of two agents sees the calls of their users on separate connections', async () => {
  const accountsBySocket = new Map<Socket, Set<string>>()
  await using outside = await startRaw(({ body }, socket) => {
    const { id, method, params } = JSON.parse(body)
    const handlers: Record<string, () => object> = {
      initialize: () => ({
        protocolVersion: '2025-11-25',
        capabilities: { tools: {} },
        serverInfo: { name: 'raw', version: '1' },
      }),
      'tools/list': () => ({ tools: [{ name: 'echo', inputSchema: { type: 'object' } }] }),
      'tools/call': () => ({ content: [{ type: 'text', text: params.arguments.text }] }),
    }
    if (method === 'tools/call')
      accountsBySocket.set(socket, (accountsBySocket.get(socket) ?? new Set()).add(params.arguments.text))
    const result = handlers[method]?.()
    const message = result === undefined ? { error: { code: -32601, message: 'unknown' } } : { result }
    writeAnswer(
      socket,
      id === undefined ? { status: 202, body: '' } : { body: JSON.stringify({ jsonrpc: '2.0', id, ...message }) },
    )
  })
  const chats = new Map<Person, string>()
  for (const who of [alice, bob]) {
    const mcp_servers = [{ name: 'acme', url: `${outside.origin}/mcp`, policy: 'allow' }]
    const agent = await who.post('/agents', { name: 'Worker', model: 'sim/script', mcp_servers })
    assert.equal(agent.status, 201, agent.text)
    chats.set(who, (await who.post('/chats', { agent_id: agent.body.data.id })).body.data.id)
  }
  for (let round = 0; round < 10; round++)
    for (const who of [alice, bob]) {
      const content = script([call('mcp__acme__echo', { text: who.name })], [])
      const { status, body, text } = await who.post(`/chats/${chats.get(who)!}/messages`, { content })
      assert.equal(status, 200, text)
      assert.deepEqual(
        results(body.data).map(({ output }) => output),
        [who.name],
      )
    }
  assert.deepEqual([...new Set([...accountsBySocket.values()].flatMap((names) => [...names]))].toSorted(), [
    'Alice',
    'Bob',
  ])
  for (const names of accountsBySocket.values()) assert.equal(names.size, 1, [...names].join(' and '))
  assert.ok(outside.connections < 20, `${outside.connections} connections: they are used again`)
})
