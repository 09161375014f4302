/** Consent over `/mcp` and `uk mcp`: a client that can ask a person asks, and the answer holds for that one call. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { type Agent, agentOf, modes } from '../mcp/mcp.ts'
import { type Answer, type Person, type TestServer, testServer } from '../server.ts'

const uk = join(import.meta.dirname, '../../bin/uk')
const home = mkdtempSync(join(tmpdir(), 'ukiyo-consent-'))
let server: TestServer
let alice: Person

before(async () => {
  server = await testServer()
  alice = await server.person('Alice')
})
after(async () => {
  await server[Symbol.asyncDispose]()
  rmSync(home, { recursive: true, force: true })
})

type Mode = keyof typeof modes
/** A client whose person answers so, and what they were shown. */
function clientWith(mode: Mode, answer: 'accept' | 'decline' | 'cancel', shown: string[]): Client {
  const negotiation = modes[mode]
  const client = new Client(
    { name: 'test', version: '1' },
    { capabilities: { elicitation: { form: {} } }, ...(negotiation && { versionNegotiation: { mode: negotiation } }) },
  )
  client.setRequestHandler('elicitation/create', ({ params }) => {
    shown.push(params.message)
    return answer === 'accept' ? { action: answer, content: {} } : { action: answer }
  })
  return client
}
async function overHttp(client: Client, key: string): Promise<Agent> {
  const headers = { authorization: `Bearer ${key}` }
  await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', server.origin), { requestInit: { headers } }))
  return agentOf(client)
}
async function overStdio(client: Client, key: string): Promise<Agent> {
  const env = {
    PATH: process.env.PATH!,
    HOME: home,
    XDG_CONFIG_HOME: join(home, 'c'),
    UK_ORIGIN: server.origin,
    UK_KEY: key,
  }
  await client.connect(new StdioClientTransport({ command: uk, args: ['mcp'], env, stderr: 'inherit' }))
  return agentOf(client)
}

const share = async () => {
  const { id } = (await alice.post('/agents', { name: 'Shared' })).body.data
  const input = { resource_type: 'agent', resource_id: id, grantee: { email: 'bob@example.com' }, access: 'view' }
  const shares = async () => (await alice.get(`/shares?resource_type=agent&resource_id=${id}`)).body.data.length
  return { input, shares }
}

const ways: [string, (client: Client, key: string) => Promise<Agent>, Mode][] = [
  ['/mcp', overHttp, '2026-07-28'],
  ['uk mcp', overStdio, 'default'],
  ['uk mcp', overStdio, '2026-07-28'],
]
for (const [way, connect, mode] of ways)
  test(`by ${way}, ${mode}: the user is asked, and the answer decides the call`, async () => {
    const { key } = await alice.key()
    for (const [answer, made] of [
      ['decline', 0],
      ['cancel', 0],
      ['accept', 1],
    ] as const) {
      const { input, shares } = await share()
      const shown: string[] = []
      await using agent = await connect(clientWith(mode, answer, shown), key)
      const { said, error } = await agent.tell('do', { name: 'shares.create', input })
      assert.deepEqual([error, said.error?.code], made ? [false, undefined] : [true, 'consent_required'], answer)
      assert.equal(await shares(), made)
      assert.equal(shown.length, 1)
      assert.match(shown[0]!, /shares\.create[^]*bob@example\.com/)
      // A call that would be refused all the same is refused unasked.
      const wrong = await agent.tell('do', { name: 'shares.create', input: { ...input, access: 'all' } })
      assert.deepEqual([wrong.said.error.code, shown.length], ['invalid_parameter', 1])
    }
  })

test('clients that can’t ask the user, or use the protocol of 2025-11-25 at /mcp, are rejected', async () => {
  const { key } = await alice.key()
  const { input, shares } = await share()
  const shown: string[] = []
  const clients = [new Client({ name: 'mute', version: '1' }), clientWith('default', 'accept', shown)]
  for (const client of clients) {
    await using agent = await overHttp(client, key)
    const { said, error } = await agent.tell('do', { name: 'shares.create', input })
    assert.deepEqual([error, said.error.type, said.error.code], [true, 'forbidden', 'consent_required'])
    assert.equal((await agent.tell('describe', { name: 'shares.create' })).said.consent, 'person')
  }
  assert.deepEqual([await shares(), shown], [0, []])
})

/** A call as a client sends it by hand, with what it says a person answered. */
const send = (key: string, input: object, more: object = {}): Promise<Answer> =>
  server.stranger.post(
    '/mcp',
    {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: {
        name: 'do',
        arguments: { name: 'shares.create', input },
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
        },
        ...more,
      },
    },
    {
      authorization: `Bearer ${key}`,
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'do',
    },
  )
const yes = (requestState: string) => ({ requestState, inputResponses: { consent: { action: 'accept', content: {} } } })
// Tests look into answers freely.
const resultOf = ({ body, text }: Answer): any => (body ?? JSON.parse(/^data: (.*)$/m.exec(text)![1]!)).result

test('a consent is valid once, for its arguments and key: altered, replayed, moved or forged ones are rejected', async () => {
  const { key } = await alice.key()
  const { key: other } = await alice.key()
  const { input, shares } = await share()
  const question = async (): Promise<string> => resultOf(await send(key, input)).requestState
  const state = await question()
  const [id, expires, signature] = state.split('.')
  const tries: [string, object, object][] = [
    [key, { ...input, grantee: { email: 'mallory@example.com' } }, yes(state)],
    [key, { ...input, access: 'edit' }, yes(state)],
    [other, input, yes(state)],
    [key, input, yes(`${id}.${Number(expires) + 1}.${signature}`)],
    [key, input, yes('made.up.here')],
    [key, input, yes('')],
    [key, input, yes(`${state}=`)],
    [key, input, yes(`${state}\n`)],
    [key, input, yes(`${id}.${expires}. ${signature}`)],
  ]
  for (const [who, given, more] of tries) {
    const { isError, structuredContent } = resultOf(await send(who, given, more))
    assert.deepEqual([isError, structuredContent?.error.code], [true, 'consent_required'], JSON.stringify(more))
  }
  assert.equal(await shares(), 0)
  const both = await Promise.all([send(key, input, yes(state)), send(key, input, yes(state))])
  assert.deepEqual(both.map((one) => resultOf(one).isError === true).toSorted(), [false, true])
  assert.equal(resultOf(await send(key, input, yes(state))).isError, true)
  assert.equal(await shares(), 1)
})

test('the user sees every field of a request, however long others are, and an oversized request is rejected', async () => {
  const { key } = await alice.key()
  const { id } = (await alice.post('/agents', { name: 'Shown' })).body.data
  const call = {
    name: 'agents.update',
    input: { id, system_prompt: 'Be kind. '.repeat(5_000), description: 'last of all' },
  }
  const asked = resultOf(await send(key, {}, { arguments: call }))
  const { message } = asked.inputRequests.consent.params
  assert.match(message, /Be kind[^]*truncated, 45000 characters in total[^]*last of all/)
  assert.ok(message.length < 3_000, `${message.length}`)
  const done = resultOf(await send(key, {}, { arguments: call, ...yes(asked.requestState) }))
  assert.equal(done.isError, undefined, JSON.stringify(done))

  const tools = Array.from({ length: 600 }, () => ({ name: 'drive.list', policy: 'allow' }))
  const many = { name: 'agents.update', input: { id, output_schema: { type: 'object', tools }, name: 'x' } }
  const { isError, structuredContent } = resultOf(await send(key, {}, { arguments: many }))
  assert.deepEqual([isError, structuredContent?.error.code], [true, 'consent_required'])
})
