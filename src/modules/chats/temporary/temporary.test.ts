import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { call, say, script, tools } from '#test/chats/chats.ts'
import { type Caller, type Person, type TestServer, testServer } from '#test/server.ts'
import { until } from '#test/until.ts'
import { join } from '#test/workspaces/team.ts'
import { deleteTemporary, expireTemporary } from './expire.ts'

let server: TestServer
let alice: Person
let bob: Person
let shop: string
before(async () => {
  server = await testServer()
  alice = await server.person('Alice')
  bob = await server.person('Bob')
  shop = (await alice.post('/workspaces', { name: 'Shop' })).body.data.id
  const invited = await alice.post(`/workspaces/${shop}/invitations`, { email: bob.email, role: 'admin' })
  await bob.post('/invitations/accept', { token: invited.body.data.token })
})
after(() => server[Symbol.asyncDispose]())

async function made(path: string, body: object, who: Caller = alice) {
  const answer = await who.post(path, body)
  assert.equal(answer.status, 201, answer.text)
  return answer.body.data
}
const temporary = (more: object = {}) =>
  made('/chats', { workspace_id: shop, model: 'sim/echo', temporary: true, ...more })
const ids = async (who: Caller, path: string): Promise<string[]> =>
  (await who.get(path)).body.data.map(({ id }: { id: string }) => id)
const rowsOf = (text: string, values: unknown[] = []) => server.app.engine.postgres.pool.query(text, values)

test('temporary chats are hidden from lists, search, events and logs, and become normal when kept', async () => {
  const chat = await temporary()
  assert.equal(chat.temporary, true)
  assert.equal(Date.parse(chat.expires_at) - Date.parse(chat.created_at), 86_400_000)
  const response = await alice.post(`/chats/${chat.id}/messages`, { content: 'The okapi hides' })
  assert.equal(response.status, 200, response.text)
  const now = (await alice.get(`/chats/${chat.id}`)).body.data
  assert.equal(Date.parse(now.expires_at) - Date.parse(now.last_message_at), 86_400_000)

  for (const who of [alice, bob]) assert.ok(!(await ids(who, '/chats')).includes(chat.id))
  assert.deepEqual(await ids(alice, '/chats?temporary=true'), [chat.id])
  assert.deepEqual(await ids(bob, `/chats?temporary=true&workspace_id=${shop}`), [])
  const { run } = response.body.data
  for (const path of ['', '/messages', '/export', '/cost', `/runs/${run.id}`, `/runs/${run.id}/events`])
    assert.equal((await bob.get(`/chats/${chat.id}${path}`)).status, 404, path)
  for (const [path, body] of [
    [`/chats/${chat.id}/messages`, { content: 'hi' }],
    [`/chats/${chat.id}/copy-to-workspace`, { workspace_id: bob.workspaceId }],
    ['/shares', { resource_type: 'chat', resource_id: chat.id, grantee: { email: bob.email }, access: 'view' }],
  ] as const)
    assert.equal((await bob.post(path, body)).status, 404, path)
  assert.equal((await bob.patch(`/chats/${chat.id}`, { temporary: false })).status, 404)
  const share = { resource_type: 'chat', resource_id: chat.id, grantee: { user_id: bob.id }, access: 'view' }
  for (const refused of [await alice.post('/shares', share), await alice.post(`/app/chat-pins/${chat.id}`)])
    assert.deepEqual([refused.status, refused.body.error.details.temporary], [409, true], refused.text)
  assert.equal((await rowsOf('select from model_requests where run_id = $1', [run.id])).rowCount, 0)

  const plain = await made('/chats', { workspace_id: shop, model: 'sim/echo' })
  await alice.post(`/chats/${plain.id}/messages`, { content: 'The okapi stands' })
  const findMessages = () => alice.get('/search?q=okapi&types=message').then(({ body }) => body.data)
  const parents = (hits: { parent_id: string }[]) => new Set(hits.map(({ parent_id }) => parent_id))
  assert.deepEqual([...parents(await until(findMessages, (hits) => hits.length === 2))], [plain.id])
  const listEvents = async (): Promise<string[]> =>
    (await rowsOf(`select data::text as data from changes where channel = $1`, [`workspace:${shop}`])).rows.map(
      ({ data }: { data: string }) => data,
    )
  const received = await until(listEvents, (all) => all.some((one) => one.includes(plain.id)))
  assert.ok(!received.some((one) => one.includes(chat.id)))

  assert.equal((await alice.patch(`/chats/${plain.id}`, { temporary: true })).status, 400)
  const updated = await alice.patch(`/chats/${chat.id}`, { temporary: false })
  assert.deepEqual(
    [updated.status, updated.body.data.temporary, updated.body.data.expires_at],
    [200, false, null],
    updated.text,
  )
  assert.ok((await ids(bob, '/chats')).includes(chat.id))
  assert.equal((await until(findMessages, (hits) => hits.length === 4)).length, 4)
  assert.ok((await until(listEvents, (all) => all.some((one) => one.includes(chat.id)))).length > 0)
})

test('workspaces get no events of a temporary chat deleted before its events are sent', async () => {
  const countEvents = async (id: string) =>
    (await rowsOf('select from changes where channel = $1 and data::text like $2', [`workspace:${shop}`, `%${id}%`]))
      .rowCount
  const relay = await server.app.engine.postgres.pool.connect()
  let chat: { id: string }
  let plain: { id: string }
  try {
    await relay.query('begin')
    await relay.query(`select from leases where name = 'relay' for update`)
    chat = await temporary()
    assert.equal((await alice.post(`/chats/${chat.id}/messages`, { content: 'Hush' })).status, 200)
    await alice.delete(`/chats/${chat.id}`)
    assert.equal((await alice.delete(`/chats/${chat.id}/permanent-delete`)).status, 200)
    plain = await made('/chats', { workspace_id: shop, model: 'sim/echo' })
    await relay.query('commit')
  } finally {
    relay.release()
  }
  await until(
    () => countEvents(plain.id),
    (count) => count === 1,
  )
  assert.equal(await countEvents(chat.id), 0)
})

test('workspaces get no events of a temporary chat deleted while its events are being sent', async () => {
  const { db, pool } = server.app.engine.postgres
  const relay = await pool.connect()
  let chat: { id: string }
  try {
    await relay.query('begin')
    await relay.query(`select from leases where name = 'relay' for update`)
    chat = await temporary()
    await db.transaction().execute(async (tx) => {
      await sql`lock table chats in access exclusive mode`.execute(tx)
      await relay.query('commit')
      // The relay's query about temporary chats waits until this chat is deleted.
      await until(
        async () =>
          (
            await rowsOf(`select from pg_locks l join pg_stat_activity a using (pid)
            where not l.granted and l.relation = 'chats'::regclass and a.query like '%temporary%'`)
          ).rowCount,
        (count) => count === 1,
      )
      await deleteTemporary(tx, [chat.id])
    })
  } finally {
    relay.release()
  }
  const plain = await made('/chats', { workspace_id: shop, model: 'sim/echo' })
  const countEvents = async (id: string) =>
    (await rowsOf('select from changes where channel = $1 and data::text like $2', [`workspace:${shop}`, `%${id}%`]))
      .rowCount
  await until(
    () => countEvents(plain.id),
    (count) => count === 1,
  )
  assert.equal(await countEvents(chat.id), 0)
})

test('a temporary chat is deleted a day after its last message, unless a run is active or it was kept', async () => {
  const helper = await made('/agents', { workspace_id: shop, name: 'Helper', model: 'sim/script' })
  const boss = await made('/agents', {
    workspace_id: shop,
    name: 'Boss',
    model: 'sim/script',
    tools: tools({ 'chats.create': 'ask' }),
    subagents: [{ agent_id: helper.id, policy: 'allow' }],
  })
  const chat = await temporary({ agent_id: boss.id, model: null })
  const task = call('delegate', { agent_id: helper.id, task: script([say('done below')]) })
  const pendingResponse = await alice.post(`/chats/${chat.id}/messages`, {
    content: script([task], [say('done above')]),
    background: true,
  })
  const operation = await until(
    async () => (await alice.get(`/operations/${pendingResponse.body.data.id}`)).body.data,
    ({ status }) => status === 'succeeded',
  )
  assert.match(JSON.stringify(operation.result), /done above/)
  const [child] = (await alice.get(`/chats?parent_chat_id=${chat.id}`)).body.data
  assert.equal(child.temporary, true)
  assert.deepEqual(await ids(bob, `/chats?parent_chat_id=${chat.id}`), [])
  assert.equal((await bob.get(`/chats/${child.id}`)).status, 404)

  const [keptChat, activeChat] = [await temporary(), await temporary({ model: 'sim/script' })]
  await alice.patch(`/chats/${keptChat.id}`, { temporary: false })
  const long = { content: script([{ delay_ms: 60_000 }, say('late')]), background: true }
  const operationId = (await alice.post(`/chats/${activeChat.id}/messages`, long)).body.data.id
  const waiting = await temporary({ agent_id: boss.id, model: null })
  const question = { content: script([call('chats_create', {})], [say('x')]) }
  assert.equal((await alice.post(`/chats/${waiting.id}/messages`, question)).body.data.run.status, 'requires_action')
  const fresh = await temporary()
  const old = [chat.id, keptChat.id, activeChat.id, waiting.id]
  await rowsOf(`update chats set last_message_at = now() - interval '25 hours' where id = any($1)`, [old])
  assert.equal(await expireTemporary(server.app.engine), 0, 'its run ended within the day')
  await rowsOf(`update runs set completed_at = now() - interval '25 hours' where chat_id = $1`, [chat.id])
  assert.equal(await expireTemporary(server.app.engine), 1)
  for (const id of [chat.id, child.id]) assert.equal((await alice.get(`/chats/${id}`)).status, 404)
  assert.equal((await alice.get(`/operations/${operation.id}`)).status, 404)
  for (const id of [keptChat.id, activeChat.id, waiting.id, fresh.id])
    assert.equal((await alice.get(`/chats/${id}`)).status, 200)

  // Automations that post in the chat are deleted with it.
  await alice.delete(`/chats/${activeChat.id}`)
  assert.equal((await alice.delete(`/chats/${activeChat.id}/permanent-delete`)).status, 200)
  assert.equal((await alice.get(`/operations/${operationId}`)).status, 404)

  // The user can delete it earlier.
  assert.equal((await alice.delete(`/chats/${fresh.id}/permanent-delete`)).status, 409)
  await alice.delete(`/chats/${fresh.id}`)
  assert.ok(!(await ids(alice, '/chats?status=trashed')).includes(fresh.id))
  assert.equal((await alice.delete(`/chats/${fresh.id}/permanent-delete`)).status, 200)
  assert.equal((await alice.get(`/chats/${fresh.id}`)).status, 404)
})

test('a task delegated while its chat is being kept is kept too', async () => {
  const helper = await made('/agents', { workspace_id: shop, name: 'Kept helper', model: 'sim/script' })
  const subagents = [{ agent_id: helper.id, policy: 'ask' }]
  const boss = await made('/agents', { workspace_id: shop, name: 'Kept boss', model: 'sim/script', subagents })
  const chat = await temporary({ agent_id: boss.id, model: null })
  const task = call('delegate', { agent_id: helper.id, task: script([say('done below')]) })
  const { run } = (await alice.post(`/chats/${chat.id}/messages`, { content: script([task], [say('good')]) })).body.data
  assert.equal(run.status, 'requires_action')
  // Forces both to overlap: one writes its chat, the other keeps the chats it finds.
  const gate = await server.app.engine.postgres.pool.connect()
  const waiting = async (): Promise<number> =>
    (await rowsOf(`select from pg_locks where not granted and relation = 'chats'::regclass`)).rowCount!
  let keepResponse: ReturnType<Person['patch']>
  try {
    await gate.query('begin')
    await gate.query('lock table chats in share mode')
    const actions = [{ id: run.pending_actions[0].id, decision: 'allow' }]
    await alice.post(`/chats/${chat.id}/runs/${run.id}/actions`, { actions })
    await until(waiting, (count) => count >= 1)
    keepResponse = alice.patch(`/chats/${chat.id}`, { temporary: false })
    await until(waiting, (count) => count >= 2)
    await gate.query('commit')
  } finally {
    gate.release()
  }
  assert.equal((await keepResponse).body.data.temporary, false)
  const [child] = await until(
    async () => (await alice.get(`/chats?parent_chat_id=${chat.id}`)).body.data,
    ({ length }) => length === 1,
  )
  assert.equal(child.temporary, false)
})

test('automations can’t post in a temporary chat, and former members and other keys can’t reach it', async () => {
  const agent = await made('/agents', { workspace_id: shop, name: 'Clerk', model: 'sim/echo' })
  const chat = await temporary()
  const automation = (who: Caller) =>
    who.post('/automations', {
      workspace_id: shop,
      name: 'Daily',
      kind: 'cron',
      schedule: '0 9 * * *',
      action: { type: 'agent', agent_id: agent.id, chat_id: chat.id, prompt: 'Hello' },
    })
  const ownAutomation = await automation(alice)
  assert.deepEqual([ownAutomation.status, ownAutomation.body.error.code], [409, 'invalid_state'], ownAutomation.text)
  assert.equal((await automation(bob)).status, 404)
  const limitedKey = await alice.key({ scopes: ['chat:read'], workspace_id: alice.workspaceId })
  assert.equal((await limitedKey.get(`/chats/${chat.id}`)).status, 404)
  const key = await alice.key({ scopes: ['chat:read'], workspace_id: shop })
  assert.deepEqual(
    await ids(key, `/chats?temporary=true&workspace_id=${shop}`).then((all) => all.includes(chat.id)),
    true,
  )

  const bobs = await made('/chats', { workspace_id: shop, model: 'sim/echo', temporary: true }, bob)
  assert.equal((await alice.get(`/chats/${bobs.id}`)).status, 404)
  await alice.delete(`/workspaces/${shop}/members/${bob.id}`)
  assert.equal((await bob.get(`/chats/${bobs.id}`)).status, 404)
})

test('the request log shows a temporary chat only to its account, even after deletion', async () => {
  const carol = await server.person('Carol')
  await alice.post(`/admin/accounts/${carol.id}/credits`, { amount_usd: 5 })
  const team = (await made('/workspaces', { name: 'Bakery' }, bob)).id
  await join(bob, carol, team, { role: 'member' })
  const chat = (body: object) => made('/chats', { workspace_id: team, model: 'sim/echo', ...body }, carol)
  const [hidden, keptChat, open] = [await chat({ temporary: true }), await chat({ temporary: true }), await chat({})]
  for (const { id } of [hidden, keptChat, open])
    assert.equal((await carol.post(`/chats/${id}/messages`, { content: 'hello' })).status, 200)
  const logged = async (by: Caller) => (await by.get(`/app/requests?workspace_id=${team}`)).body.data
  const chats = async (by: Caller) => (await logged(by)).map(({ chat_id }: { chat_id: string }) => chat_id)
  const requestOf = async (id: string) =>
    (await logged(carol)).find(({ chat_id }: { chat_id: string }) => chat_id === id).id as string
  const request = await requestOf(hidden.id)
  assert.deepEqual(await chats(carol), [open.id, keptChat.id, hidden.id])
  assert.deepEqual(await chats(bob), [open.id])
  await carol.patch(`/chats/${keptChat.id}`, { temporary: false })
  await carol.delete(`/chats/${hidden.id}`)
  assert.equal((await carol.delete(`/chats/${hidden.id}/permanent-delete`)).status, 200)
  assert.deepEqual(await chats(bob), [open.id, keptChat.id])
  assert.deepEqual(await chats(carol), [open.id, keptChat.id, hidden.id])
  assert.equal((await bob.get(`/app/requests/${request}`)).status, 404)
  assert.equal((await carol.get(`/app/requests/${request}`)).status, 200)
  // Without its log, the call is known only to the ledger.
  await rowsOf('update calls set why = null where id = $1', [request])
  assert.equal((await bob.get(`/app/requests/${request}`)).status, 404)
  assert.equal((await carol.get(`/app/requests/${request}`)).status, 200)
})
