import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { type Agent, agentOf, clientOf, modes } from '#test/mcp/mcp.ts'
import { notesService } from '#test/mcp/notes.ts'
import { type Person, type TestServer, testServer } from '#test/server.ts'

const uk = join(import.meta.dirname, '../../../../bin/uk')
const home = mkdtempSync(join(tmpdir(), 'ukiyo-mcp-'))
const { service } = notesService()
let server: TestServer
let alice: Person

before(async () => {
  server = await testServer({ services: [service] })
  alice = await server.person('Alice')
})
after(async () => {
  await server[Symbol.asyncDispose]()
  rmSync(home, { recursive: true, force: true })
})

const environment = (more: Record<string, string>): Record<string, string> => ({
  PATH: process.env.PATH!,
  HOME: home,
  XDG_CONFIG_HOME: join(home, 'config'),
  UK_ORIGIN: server.origin,
  ...more,
})

async function agentOver(mode: keyof typeof modes, env: Record<string, string>): Promise<Agent> {
  const client = clientOf(modes[mode])
  await client.connect(
    new StdioClientTransport({ command: uk, args: ['mcp'], env: environment(env), stderr: 'inherit' }),
  )
  return agentOf(client)
}

for (const mode of Object.keys(modes) as (keyof typeof modes)[])
  test(`\`uk mcp\` tells a client in mode ${mode} what HTTP tells it`, async () => {
    const { key } = await alice.key()
    await using agent = await agentOver(mode, { UK_KEY: key })
    assert.deepEqual(
      (await agent.client.listTools()).tools.map(({ name }) => name),
      ['find', 'describe', 'do'],
    )
    assert.equal((await agent.tell('find', { query: 'write a note' })).said.data[0].name, 'notes.create')
    assert.deepEqual((await agent.tell('describe', { name: 'notes.create' })).said.input.required, ['text'])
    const { id } = (await agent.tell('do', { name: 'notes.create', input: { text: 'over stdio' } })).said.data
    assert.equal((await agent.tell('do', { name: 'notes.get', input: { id } })).said.data.text, 'over stdio')
    const told: number[] = []
    const spelled = await agent.tell(
      'do',
      { name: 'notes.spell', input: { id, delay_ms: 20 } },
      { onprogress: (one) => told.push((one as { progress: number }).progress) },
    )
    assert.equal(spelled.said.events[0].data.delta, 'over stdio')
    // All 11 in order; the client drops those that arrive together with the result.
    assert.ok(told.length > 0 && told.length <= 11, `${told.length} of 11 events`)
    assert.deepEqual(
      told,
      told.map((_, index) => told[0]! + index),
    )
    const refused = await agent.tell('do', { name: 'notes.get', input: { id: 'nonsense' } })
    assert.deepEqual([refused.error, refused.said.error.type], [true, 'not_found'])
    await assert.rejects(agent.tell('delete', {}), { code: -32602 })
  })

test('an invalid key, a missing key and an unreachable server are error results, and the process keeps running', async () => {
  const cases: [Record<string, string>, string][] = [
    [{ UK_KEY: 'uk_nonsense' }, 'unauthenticated'],
    [{}, 'unauthenticated'],
    [{ UK_KEY: 'uk_nonsense', UK_ORIGIN: 'http://127.0.0.1:9' }, 'unavailable'],
  ]
  for (const [env, type] of cases) {
    await using agent = await agentOver('2026-07-28', env)
    assert.equal((await agent.client.listTools()).tools.length, 3)
    const { error, said } = await agent.tell('find', { query: 'notes' })
    assert.deepEqual([error, said.error.type], [true, type])
  }
})

test('it exits when stdin closes, and writes only messages', async () => {
  const child: ChildProcess = spawn(uk, ['mcp'], { env: environment({}), stdio: ['pipe', 'pipe', 'pipe'] })
  let out = ''
  let err = ''
  child.stderr!.on('data', (part) => (err += String(part)))
  child.stdout!.on('data', (part) => (out += String(part)))
  const code = new Promise((resolve) => child.once('close', resolve))
  child.stdin!.write(
    `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } } })}\n`,
  )
  while (!out.includes('\n')) await new Promise((resolve) => child.stdout!.once('data', resolve))
  child.stdin!.end()
  assert.equal(await code, 0)
  assert.match(err, /Not signed in/)
  assert.equal(JSON.parse(out).result.serverInfo.name, 'ukiyo')
})
