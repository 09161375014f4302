import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import OpenAI from 'openai'
import { CAPABILITIES } from '#core/scopes.ts'
import { type OllamaBox, ollamaBox } from '#test/local-inference/ollama-box.ts'
import { teamOf } from '#test/makers.ts'
import type { Person } from '#test/server.ts'
import { twoServers } from '#test/two-servers.ts'
import { until } from '#test/until.ts'

const { server, twin, alice } = await twoServers()
const stack = new AsyncDisposableStack()
let box: OllamaBox
let bob: Person
let vera: Person
let team: string

before(async () => {
  box = stack.use(
    await ollamaBox(server.origin, alice, 'Den', { models: [{ name: 'tiny:latest', capabilities: ['completion'] }] }),
  )
  bob = await server.person('Bob')
  vera = await server.person('Vera')
  team = await teamOf(alice, [
    [bob, 'member'],
    [vera, 'viewer'],
  ])
})
after(() => stack.disposeAsync())

const client = (key: string, origin = server.origin) =>
  new OpenAI({ apiKey: key, baseURL: `${origin}/compat-a/v1`, maxRetries: 0 })
const ask = { model: 'local/tiny:latest', messages: [{ role: 'user' as const, content: 'hello there' }] }
const status = (key: string, origin?: string): Promise<number> =>
  client(key, origin)
    .chat.completions.create(ask)
    .then(
      () => 200,
      ({ status: code }: { status: number }) => code,
    )
const becomes = (key: string, expectedStatus: number, origin?: string) =>
  until(
    () => status(key, origin),
    (code) => code === expectedStatus,
  )
const lend = async (capabilities: readonly string[]) => {
  const at = `/computers/${box.id}/exposures`
  const changed = await alice.patch(`${at}/${team}`, { capabilities })
  if (changed.status === 404) assert.equal((await alice.post(at, { workspace_id: team, capabilities })).status, 201)
}
/** Returns a long, slow stream after its first chunk. */
async function endless(key: string, origin?: string) {
  box.ollama.script({ talks: 5_000, perChunkDelayMs: 20, on: 'POST /v1/chat/completions' })
  const stream = await client(key, origin).chat.completions.create({ ...ask, stream: true })
  const chunks = stream[Symbol.asyncIterator]()
  await chunks.next()
  const request = box.ollama.requests.findLast(({ path }) => path === '/v1/chat/completions')!
  return {
    /** Asserts that the stream is aborted early, for the reader and for Ollama. */
    async ends() {
      await assert.rejects(async () => {
        while (!(await chunks.next()).done);
      })
      await request.ended
      assert.equal(request.aborted, true)
    },
  }
}

test('the `inference` capability serves a workspace’s members, but not viewers or outsiders', async () => {
  const [bobs, veras] = [await bob.key(), await vera.key()]
  assert.deepEqual([await status(bobs.key), await status(veras.key)], [404, 404])
  await lend(['exec', 'fs_read'])
  assert.deepEqual([await status(bobs.key), await status(veras.key)], [404, 404])
  await lend(['inference'])
  await becomes(bobs.key, 200)
  assert.equal(await status(veras.key), 404)
  const dave = await server.person('Dave')
  assert.equal(await status((await dave.key()).key), 404)
  // A workspace-limited key reaches only its own workspace's computers.
  const elsewhere = await bob.key({ workspace_id: bob.workspaceId })
  const there = await bob.key({ workspace_id: team })
  assert.deepEqual([await status(elsewhere.key), await status(there.key)], [404, 200])
  const reading = await bob.key({ scopes: ['computer:read', 'chat:read'] })
  assert.equal(await status(reading.key), 403)
  // Spend caps don't block calls that cost nothing.
  const poor = await bob.key({ spend_cap_usd: 0.000001, spend_cap_period: 'total' })
  assert.deepEqual([await status(poor.key), await status(poor.key)], [200, 200])
})

test('withdrawing the capability ends running calls in every process', async () => {
  const { key } = await bob.key()
  for (const origin of [server.origin, twin.origin]) {
    await lend(['inference'])
    await becomes(key, 200, origin)
    const stream = await endless(key, origin)
    await lend(['exec'])
    await stream.ends()
    await becomes(key, 404, origin)
  }
})

test('removed or demoted members lose their running streams', async () => {
  await lend(['inference'])
  const { key } = await bob.key()
  const member = async () =>
    (await alice.get(`/workspaces/${team}/members`)).body.data.find(
      ({ user_id: id }: { user_id: string }) => id === bob.id,
    )
  await becomes(key, 200)
  const first = await endless(key)
  const { id } = await member()
  assert.equal((await alice.patch(`/workspaces/${team}/members/${id}`, { role: 'viewer' })).status, 200)
  await first.ends()
  await becomes(key, 404)
  assert.equal((await alice.patch(`/workspaces/${team}/members/${id}`, { role: 'member' })).status, 200)
  await becomes(key, 200)
  const second = await endless(key)
  assert.equal((await alice.delete(`/workspaces/${team}/members/${id}`)).status, 200)
  await second.ends()
  await becomes(key, 404)
})

test('agents can use a lent model until it is withdrawn', async () => {
  const again = await server.person('Bea')
  const { token } = (await alice.post(`/workspaces/${team}/invitations`, { email: again.email, role: 'member' })).body
    .data
  await again.post('/invitations/accept', { token })
  await lend(['inference'])
  const agent = await again.post('/agents', {
    name: 'Small',
    model: 'local/tiny:latest',
    workspace_id: team,
    tools: [],
  })
  assert.equal(agent.status, 201, agent.text)
  const chat = await again.post('/chats', { title: 'Lent', workspace_id: team, agent_id: agent.body.data.id })
  const say = () => again.post(`/chats/${chat.body.data.id}/messages`, { content: 'hello there' })
  const response = await until(say, ({ status: code }) => code === 200)
  assert.deepEqual([response.body.data.model, response.body.data.provider], ['local/tiny:latest', 'local'])
  await lend(['exec'])
  await becomes((await again.key()).key, 404)
  const refusal = await say()
  assert.ok(refusal.status >= 400, refusal.text)
})

test('a machine that no longer allows inference serves no one, including its owner', async () => {
  const { key } = await alice.key()
  assert.equal(await status(key), 200)
  await box.leave()
  await box.comeBack(['exec'])
  await becomes(key, 404)
  await box.leave()
  await box.comeBack(CAPABILITIES)
  await becomes(key, 200)
})
