import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Caller, type Person, type TestServer, testServer } from '#test/server.ts'

let server: TestServer
let alice: Person
let bob: Person
before(async () => {
  server = await testServer({ environment: { UK_SIGN_UP_CREDITS_USD: '5' } })
  alice = await server.person('Alice')
  bob = await server.person('Bob')
})
after(() => server[Symbol.asyncDispose]())

const say = async (who: Caller, chat: string, content: unknown, more: object = {}) => {
  const answer = await who.post(`/chats/${chat}/messages`, { content, ...more })
  assert.equal(answer.status, 200, answer.text)
  return answer.body.data
}
const texts = async (who: Caller, chat: string, query = ''): Promise<string[]> =>
  (await who.get(`/chats/${chat}/messages${query}`)).body.data.map(
    (row: { role: string; text: string }) => `${row.role}: ${row.text}`,
  )

/** Returns a chat with two branches after its first answer. */
async function branched(): Promise<{ chat: string; first: string; left: string; right: string }> {
  const chat = (await alice.post('/chats', { model: 'sim/echo', title: 'Plans' })).body.data.id
  const first = (await say(alice, chat, 'one')).id
  const left = (await say(alice, chat, 'left', { parent_id: first })).id
  const right = (await say(alice, chat, 'right', { parent_id: first })).id
  return { chat, first, left, right }
}

test('a copy to a team has every branch, is independent of the original, and costs nothing', async () => {
  const { chat, left } = await branched()
  const { id: team } = (await alice.post('/workspaces', { name: 'Team' })).body.data
  const copied = await alice.post(`/chats/${chat}/copy-to-workspace`, { workspace_id: team })
  assert.equal(copied.status, 201, copied.text)
  const copy = copied.body.data
  assert.deepEqual([copy.workspace_id, copy.title, copy.forked_from, copy.message_count], [team, 'Plans', null, 6])
  assert.deepEqual(await texts(alice, copy.id), await texts(alice, chat))
  assert.deepEqual(await texts(alice, copy.id, '?branch=all'), await texts(alice, chat, '?branch=all'))
  assert.equal((await alice.get(`/chats/${copy.id}/cost`)).body.data.cost_usd, 0)
  await say(alice, copy.id, 'only here')
  assert.ok(!(await texts(alice, chat)).includes('user: only here'))
  const other = (await alice.get(`/chats/${copy.id}/messages?branch=all`)).body.data.find(
    (row: { text: string }) => row.text === 'left',
  )
  await say(alice, copy.id, 'on the other branch', { parent_id: other.id })
  assert.deepEqual(await texts(alice, copy.id), [
    'user: one',
    'assistant: one',
    'user: left',
    'user: on the other branch',
    'assistant: on the other branch',
  ])
  assert.equal((await alice.get(`/chats/${chat}`)).body.data.head_message_id === left, false)
})

test('a fork has the messages up to its origin, and a reader can fork into their own workspace', async () => {
  const { chat, first, left } = await branched()
  await alice
    .post('/shares', { resource_type: 'chat', resource_id: chat, grantee: { email: bob.email } })
    .then(({ body }) => bob.post('/invitations/accept', { token: body.data.token }))
  assert.equal((await bob.post(`/chats/${chat}/fork-to-workspace`, { workspace_id: alice.workspaceId })).status, 404)
  const fork = await bob.post(`/chats/${chat}/fork-to-workspace`, { workspace_id: bob.workspaceId, message_id: left })
  assert.equal(fork.status, 201, fork.text)
  assert.deepEqual(fork.body.data.forked_from, { chat_id: chat, message_id: left })
  assert.deepEqual(await texts(bob, fork.body.data.id), [
    'user: one',
    'assistant: one',
    'user: left',
    'assistant: left',
  ])
  assert.equal((await say(bob, fork.body.data.id, 'mine now')).text, 'mine now')
  assert.equal((await alice.get(`/chats/${fork.body.data.id}`)).status, 404)
  const foreign = (await branched()).first
  assert.equal(
    (await alice.post(`/chats/${chat}/fork-to-workspace`, { workspace_id: alice.workspaceId, message_id: foreign }))
      .body.error.param,
    'message_id',
  )
  const short = (
    await alice.post(`/chats/${chat}/copy-to-workspace`, { workspace_id: alice.workspaceId, message_id: first })
  ).body.data
  assert.deepEqual(await texts(alice, short.id), ['user: one', 'assistant: one'])
})

test('a copy to another agent uses that agent from then on', async () => {
  const { chat } = await branched()
  const script = JSON.stringify({ steps: [{ text: 'I am the other' }] })
  const agent = (await alice.post('/agents', { name: 'Other', model: 'sim/script' })).body.data
  const copy = (await alice.post(`/chats/${chat}/copy-to-agent`, { agent_id: agent.id })).body.data
  assert.equal(copy.agent_id, agent.id)
  await alice.patch(`/chats/${copy.id}`, { model: null })
  assert.equal((await say(alice, copy.id, script)).text, 'I am the other')
  assert.equal((await alice.post(`/chats/${chat}/copy-to-agent`, { agent_id: bob.id })).body.error.param, 'agent_id')
})

test('a compacted chat continues from its summary, whose cost is separate, and the old branch stays', async () => {
  const { chat, right } = await branched()
  const compacted = await alice.post(`/chats/${chat}/compact`, {})
  assert.equal(compacted.status, 200, compacted.text)
  const { data: summary } = compacted.body
  assert.deepEqual(
    [summary.parent_id, summary.content[0].type, summary.content[0].until_message_id],
    [null, 'compaction', right],
  )
  assert.ok(summary.cost_usd > 0)
  assert.equal((await alice.get(`/chats/${chat}`)).body.data.head_message_id, summary.id)
  const next = await say(alice, chat, 'and now?')
  assert.equal(next.parent_id === null, false)
  assert.equal((await alice.get(`/chats/${chat}/messages`)).body.data.length, 3)
  await alice.patch(`/chats/${chat}`, { head_message_id: right })
  assert.deepEqual(await texts(alice, chat), ['user: one', 'assistant: one', 'user: right', 'assistant: right'])
  const empty = (await alice.post('/chats', {})).body.data.id
  assert.equal((await alice.post(`/chats/${empty}/compact`, {})).body.error.code, 'invalid_state')
  await alice.post(`/chats/${chat}/archive`)
  const archived = await alice.post(`/chats/${chat}/compact`, {})
  assert.deepEqual([archived.status, archived.body.error?.code], [409, 'invalid_state'], archived.text)
})

test('transcripts export as Markdown, JSON and escaped HTML, with attachments', async () => {
  const chat = (await alice.post('/chats', { model: 'sim/echo', title: 'Café <script>' })).body.data.id
  const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  await say(alice, chat, [
    { type: 'text', text: '<img src=x onerror=alert(1)> & "quotes"' },
    { type: 'image', source: { kind: 'base64', media_type: 'image/png', data: pixel } },
  ])
  const markdown = await alice.get(`/chats/${chat}/export`)
  assert.match(markdown.headers.get('content-type')!, /^text\/markdown/)
  assert.match(
    markdown.headers.get('content-disposition')!,
    /^attachment; filename="chat\.md"; filename\*=UTF-8''Caf%C3%A9/,
  )
  assert.ok(markdown.text.includes(`![image](data:image/png;base64,${pixel})`))
  const page = (await alice.get(`/chats/${chat}/export?format=html`)).text
  assert.ok(!page.includes('<img src=x') && !page.includes('<script>'))
  assert.match(page, /<p>[^<]*img src=x onerror=alert\(1\)/)
  assert.ok(page.includes(`src="data:image/png;base64,${pixel}"`))
  const json = JSON.parse((await alice.get(`/chats/${chat}/export?format=json`)).text)
  assert.deepEqual([json.chat.id, json.messages.length, json.messages[0].role], [chat, 2, 'user'])
  assert.equal((await bob.get(`/chats/${chat}/export`)).status, 404)
})
