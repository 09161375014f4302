import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { call, results, say, script } from '#test/chats/chats.ts'
import { allEvents } from '#test/events.ts'
import { type Person, testServer } from '#test/server.ts'
import { until } from '#test/until.ts'

interface RpcRequest {
  id?: number
  method: string
  params?: { protocolVersion?: string; name?: string }
}

/** A loopback MCP server that counts requests. */
async function mcpServer(listing: () => Promise<object[]> | object[], answer: () => object = () => ({ content: [] })) {
  const counts: Record<string, number> = {}
  const reply = async ({ method, params }: RpcRequest): Promise<object | null> => {
    counts[method] = (counts[method] ?? 0) + 1
    if (method === 'initialize')
      return {
        protocolVersion: params!.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'acme', version: '1' },
      }
    if (method === 'tools/list') return { tools: await listing() }
    return method === 'tools/call' ? answer() : null
  }
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    if (request.method !== 'POST') return response.writeHead(405).end()
    const rpcRequest = JSON.parse(await text(request)) as RpcRequest
    const result = await reply(rpcRequest)
    if (rpcRequest.id === undefined) return response.writeHead(202).end()
    const body =
      result === null
        ? { jsonrpc: '2.0', id: rpcRequest.id, error: { code: -32601, message: 'Method not found' } }
        : { jsonrpc: '2.0', id: rpcRequest.id, result }
    return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }
  const server = createServer((request, response) => void handle(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    seen: counts,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

const echo = (inputSchema: object = { type: 'object' }) => ({ name: 'echo', description: 'Says it.', inputSchema })

async function problemsOf(alice: Person, agent: string, turns = script([say('done')])): Promise<string[]> {
  const chat = (await alice.post('/chats', { agent_id: agent })).body.data.id
  const { run } = (await alice.post(`/chats/${chat}/messages`, { content: turns })).body.data
  const log = await allEvents(alice, `/chats/${chat}/runs/${run.id}/events`)
  return log.filter(({ event }) => event === 'mcp_server.error').map(({ data }) => String(data.message))
}

const agentOf = async (alice: Person, url: string): Promise<string> => {
  const server = { name: 'acme', url, policy: 'allow' }
  return (await alice.post('/agents', { name: 'Worker', model: 'sim/script', mcp_servers: [server] })).body.data.id
}

const listings: Record<string, () => object[]> = {
  'many bytes': () => [echo({ type: 'object', description: 'x'.repeat(1 << 20) })],
  'many values': () => [echo({ type: 'object', enum: Array.from({ length: 60_000 }, () => 1) })],
  'many tools': () => Array.from({ length: 30_000 }, () => echo()),
}

test('an oversized listing is rejected before parsing and isn’t requested again after the agent changes', async () => {
  await using server = await testServer({ environment: { UK_FETCH_ALLOW: '127.0.0.1' } })
  const alice = await server.person('Alice')
  for (const [kind, listing] of Object.entries(listings)) {
    await using outside = await mcpServer(listing)
    const agent = await agentOf(alice, outside.url)
    assert.match((await problemsOf(alice, agent)).join(), /response is too large/, kind)
    const changed = await alice.patch(`/agents/${agent}`, { name: `Worker of ${kind}` })
    assert.equal(changed.status, 200, changed.text)
    assert.match((await problemsOf(alice, agent)).join(), /response is too large/, kind)
    await problemsOf(alice, await agentOf(alice, outside.url))
    assert.equal(outside.seen['tools/list'], 1, kind)
  }
})

test('a tool result with too many values is rejected before parsing', async () => {
  await using server = await testServer({ environment: { UK_FETCH_ALLOW: '127.0.0.1' } })
  const alice = await server.person('Alice')
  const part = { type: 'text', text: '' }
  await using outside = await mcpServer(
    () => [echo()],
    () => ({ content: Array.from({ length: 60_000 }, () => part) }),
  )
  const chat = (await alice.post('/chats', { agent_id: await agentOf(alice, outside.url) })).body.data.id
  const callResponse = await alice.post(`/chats/${chat}/messages`, {
    content: script([call('mcp__acme__echo')], [say('so')]),
  })
  const [result] = results(callResponse.body.data)
  assert.match(result!.output.error.message, /response is too large/)
})

test('an account’s servers are listed one at a time', async () => {
  await using server = await testServer({ environment: { UK_FETCH_ALLOW: '127.0.0.1' }, waits: { listingMs: 600_000 } })
  const alice = await server.person('Alice')
  let [inProgress, most] = [0, 0]
  const both = Promise.withResolvers<void>()
  await using outside = await mcpServer(async () => {
    most = Math.max(most, ++inProgress)
    if ((outside.seen['notifications/initialized'] ?? 0) === 2) both.resolve()
    await both.promise
    // Meanwhile the second listing proceeds without waiting.
    for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate)
    inProgress--
    return [echo()]
  })
  const watched = setInterval(() => outside.seen['notifications/initialized'] === 2 && both.resolve(), 10)
  const agents = [await agentOf(alice, outside.url), await agentOf(alice, outside.url)]
  assert.deepEqual(await Promise.all(agents.map((agent) => problemsOf(alice, agent))), [[], []])
  clearInterval(watched)
  assert.deepEqual([outside.seen['tools/list'], most], [2, 1])
})

test('an unresponsive server doesn’t delay the account’s other listings', async () => {
  await using server = await testServer({ environment: { UK_FETCH_ALLOW: '127.0.0.1' }, waits: { listingMs: 1 } })
  const alice = await server.person('Alice')
  const [firstCame, secondCame] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  await using silent = await mcpServer(async () => {
    firstCame.resolve()
    await secondCame.promise
    return [echo()]
  })
  await using quick = await mcpServer(() => {
    secondCame.resolve()
    return [echo()]
  })
  const first = problemsOf(alice, await agentOf(alice, silent.url))
  await firstCame.promise
  assert.deepEqual(await problemsOf(alice, await agentOf(alice, quick.url)), [])
  assert.deepEqual(await first, [])
})

test('a stopped run leaves the listing queue', async () => {
  await using server = await testServer({ environment: { UK_FETCH_ALLOW: '127.0.0.1' }, waits: { listingMs: 600_000 } })
  const alice = await server.person('Alice')
  const [came, answers] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  await using silent = await mcpServer(async () => {
    came.resolve()
    await answers.promise
    return [echo()]
  })
  await using other = await mcpServer(() => [echo()])
  const first = problemsOf(alice, await agentOf(alice, silent.url))
  await came.promise
  const chat = (await alice.post('/chats', { agent_id: await agentOf(alice, other.url) })).body.data.id
  const waiting = alice.post(`/chats/${chat}/messages`, { content: script([say('done')]) })
  await until(async () => other.seen['notifications/initialized'] ?? 0, Boolean)
  assert.equal((await alice.post(`/chats/${chat}/stop`, {})).status, 200)
  assert.equal((await waiting).body.data.run.status, 'cancelled')
  assert.equal(other.seen['tools/list'], undefined)
  answers.resolve()
  assert.deepEqual(await first, [])
})
