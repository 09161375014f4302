import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { firstIdAt, newId } from '#core/ids.ts'
import { bring, hello } from '#test/endpoints/house.ts'
import { type Caller, type Person, type TestServer, testServer } from '#test/server.ts'
import { startOpenAI } from '#test/vendors/openai/openai.ts'
import { retainRequestLog } from '#infra/request-log/request-log.ts'

let server: TestServer
let alice: Person
let bob: Person
before(async () => {
  server = await testServer({ environment: { UK_UPSTREAM_ALLOW: '127.0.0.1', UK_SIM: 'on' } })
  alice = await server.person('Alice')
  bob = await server.person('Bob')
  await alice.post(`/admin/accounts/${bob.id}/credits`, { amount_usd: 5 })
})
after(() => server[Symbol.asyncDispose]())

const complete = async (by: Caller, body: object) => {
  const answer = await by.post('/compat-a/v1/chat/completions', body)
  return { ...answer, id: answer.headers.get('x-request-id')! }
}
const trace = (by: Caller, id: string) => by.get(`/app/requests/${id}`)

test('a request ID leads to the attempted providers, reasons, duration and cost, but not to the prompt', async () => {
  await using down = await startOpenAI()
  await using up = await startOpenAI()
  const models = [{ id: 'gpt-4o', pricing: { input: 2, output: 8 } }]
  await bring(bob, down, 'first', { models, test: false })
  await bring(bob, up, 'second', { models, priority: 1, test: false })
  down.script({ status: 503, times: 5 })
  const key = await bob.key({ name: 'till' })
  const requestBody = { model: 'gpt-4o', models: ['first/gpt-4o', 'second/gpt-4o'], messages: hello('x').messages }
  const answer = await key.post('/compat-c/v1/chat/completions', { ...requestBody, model: 'first/gpt-4o' })
  assert.equal(answer.status, 200, answer.text)
  const id = answer.headers.get('x-request-id')!
  const { status, body, text } = await trace(bob, id)
  assert.equal(status, 200, text)
  const { data } = body
  assert.deepEqual(
    [data.status, data.surface, data.path, data.asked_model, data.provider, data.key_name, data.http_status],
    ['succeeded', 'compat-c', '/compat-c/v1/chat/completions', 'first/gpt-4o', 'second', 'till', 200],
  )
  assert.ok(data.request_bytes > 50 && data.cost_usd > 0 && data.total_tokens > 0 && data.duration_ms >= 0, text)
  const attempts = data.tried.map(({ provider, outcome }: any) => [provider, outcome])
  assert.deepEqual(attempts.at(0), ['first', 'failed'])
  assert.deepEqual(attempts.at(-1), ['second', 'answered'])
  assert.equal(data.tried[0].status, 503)
  assert.match(data.tried[0].why, /\w/)
  assert.ok(!text.includes('hello you'), 'what was said is nowhere')

  const refusal = await complete(key, hello('nobody/has-it'))
  assert.ok(refusal.status >= 400)
  const refusalTrace = (await trace(bob, refusal.id)).body.data
  assert.deepEqual(
    [refusalTrace.status, refusalTrace.asked_model, refusalTrace.tried, refusalTrace.cost_usd],
    ['failed', 'nobody/has-it', [], null],
  )
  assert.equal(refusalTrace.http_status, refusal.status)
  const listIds = async (query: string) => (await bob.get(`/app/requests${query}`)).body.data.map((row: any) => row.id)
  assert.deepEqual(await listIds(''), [refusal.id, id])
  assert.deepEqual(await listIds('?status=failed'), [refusal.id])
  assert.deepEqual(await listIds(`?error_code=${refusalTrace.error_code}`), [refusal.id])
  assert.deepEqual(await listIds('?provider=second'), [id])
  assert.deepEqual(await listIds('?model=first/gpt-4o'), [id])
  assert.deepEqual(await listIds('?limit=1'), [refusal.id])
  const day = data.created_at.slice(0, 10)
  assert.deepEqual(await listIds(`?from=${day}&to=${day}&key_id=${key.keyId}`), [refusal.id, id])
  assert.deepEqual(await listIds('?to=2020-01-01'), [])
})

test('members see only their own requests, owners see all without provider messages, and others see none', async () => {
  const carol = await server.person('Carol')
  await alice.post(`/admin/accounts/${carol.id}/credits`, { amount_usd: 5 })
  const team = (await bob.post('/workspaces', { name: 'Team' })).body.data.id
  const invitation = await bob.post(`/workspaces/${team}/invitations`, { email: carol.email, role: 'admin' })
  await carol.post('/invitations/accept', { token: invitation.body.data.token })
  const hers = await carol.key({ workspace_id: team })
  const { id, status, text } = await complete(hers, hello('sim/echo'))
  assert.equal(status, 200, text)
  const failure = await complete(hers, hello('nobody/at-all'))
  const within = async (by: Caller) =>
    (await by.get(`/app/requests?workspace_id=${team}`)).body.data.map((row: any) => row.id)
  assert.deepEqual(await within(carol), [failure.id, id])
  assert.deepEqual(await within(bob), [failure.id, id], 'he owns it')
  const his = await bob.key({ workspace_id: team })
  const { id: ofBob } = await complete(his, hello('sim/echo'))
  assert.ok(!(await within(carol)).includes(ofBob), 'an admin is not told of others’ calls')
  assert.equal((await trace(carol, ofBob)).status, 404)
  assert.equal((await trace(bob, failure.id)).body.data.error_message, null)
  assert.match((await trace(carol, failure.id)).body.data.error_message, /at-all/)
  // The administrator sees everything, a key bound to one workspace nothing of another, and non-members nothing.
  assert.equal((await trace(alice, id)).status, 200)
  assert.ok((await alice.get('/app/requests?instance=true')).body.data.some((row: any) => row.id === id))
  assert.equal((await bob.get('/app/requests?instance=true')).status, 403)
  const dora = await server.person('Dora')
  assert.equal((await trace(dora, id)).status, 404)
  assert.equal((await dora.get(`/app/requests?workspace_id=${team}`)).status, 404)
  const elsewhere = await bob.key({ workspace_id: bob.workspaceId })
  assert.equal((await trace(elsewhere, id)).status, 404)
})

test('requests of runs and of servers without a log are found in the ledger', async () => {
  const chat = (await bob.post('/chats', { model: 'sim/echo' })).body.data.id
  await bob.post(`/chats/${chat}/messages`, { content: 'hello' })
  const rows = (await bob.get('/app/requests')).body.data
  const row = rows.find(({ surface }: any) => surface === 'chat')
  assert.deepEqual([row.surface, row.path, row.chat_id], ['chat', null, chat])
  await server.app.engine.postgres.pool.query('update calls set why = null where id = $1', [row.id])
  const callTrace = (await trace(bob, row.id)).body.data
  assert.deepEqual([callTrace.id, callTrace.chat_id, callTrace.tried], [row.id, chat, []])
  assert.equal((await trace(alice, '01KAJ8R3T2M6QK5W9V0XBZC4DE')).status, 404)
})

test('usage is exported as CSV without spreadsheet formulas', async () => {
  const key = await bob.key({ name: 'sheet' })
  await complete(key, hello('sim/echo'))
  const { status, text, headers } = await bob.get(`/app/usage-export?key_id=${key.keyId}`)
  assert.equal(status, 200, text)
  assert.match(headers.get('content-type')!, /text\/csv/)
  assert.match(headers.get('content-disposition')!, /usage\.csv/)
  const [head, row, end] = text.split('\r\n')
  assert.match(head!, /^id,created_at,.*cost_usd/)
  assert.match(row!, /,sim\/echo,sim,/)
  assert.equal(end, '')
  await server.app.engine.postgres.pool.query(`update calls set model = '=1+1' where key_id = $1`, [key.keyId])
  assert.match((await bob.get(`/app/usage-export?key_id=${key.keyId}`)).text, /,'=1\+1,/)
  assert.equal((await bob.get('/app/usage-export?instance=true')).status, 403)
})

test('a value that no database accepts keeps neither its own nor other requests out of the log', async () => {
  await using up = await startOpenAI()
  await bring(bob, up, 'named', { models: [{ id: 'gpt-4o' }], test: false })
  const key = await bob.key()
  const odd = { [`no\0where ${'x'.repeat(5_000)}`]: 1, ['\ud800']: 1, top_k: 3 }
  const [first, second] = await Promise.all([
    key.post('/compat-b/v1/messages', { ...hello('named/gpt-4o'), max_tokens: 10, ...odd }),
    complete(key, hello('sim/echo')),
  ])
  assert.equal(first.status, 200, first.text)
  const { status, body } = await trace(bob, first.headers.get('x-request-id') ?? first.headers.get('request-id')!)
  assert.equal(status, 200)
  const { losses, path } = body.data
  assert.equal(path, '/compat-b/v1/messages', 'of the log, and not of the books')
  assert.ok(losses.some((name: string) => name.startsWith('nowhere xx')) && losses.includes('top_k'), losses.join())
  assert.ok(losses.every((name: string) => name.length <= 300))
  assert.equal((await trace(bob, second.id)).body.data.path, '/compat-a/v1/chat/completions')

  // A row that the database still rejects is skipped alone.
  const { requestLog, postgres } = server.app.engine
  const { rows } = await postgres.pool.query('select * from request_log where id = $1', [body.data.id])
  const ids = [newId(), newId(), newId()] as const
  const bad = { ...rows[0], id: ids[1], surface: 'a\0b' }
  for (const row of [{ ...rows[0], id: ids[0] }, bad, { ...rows[0], id: ids[2] }]) requestLog.add(row)
  await requestLog.flush()
  const storedRows = await postgres.pool.query('select id from request_log where id = any($1) order by id', [ids])
  assert.deepEqual(
    storedRows.rows.map(({ id }) => id),
    [ids[0], ids[2]],
  )
})

test('requests older than the retention period leave the log and stay in the ledger', async () => {
  const key = await bob.key()
  const { id } = await complete(key, hello('nobody/has-it'))
  const { requestLog, postgres } = server.app.engine
  await requestLog.flush()
  const isInLog = async () => (await postgres.pool.query('select from request_log where id = $1', [id])).rowCount === 1
  const day = 86_400_000
  await retainRequestLog(postgres, 30, Date.now() + 29 * day)
  assert.ok(await isInLog())
  await retainRequestLog(postgres, 30, Date.now() + 31 * day)
  assert.ok(!(await isInLog()))

  const completion = await complete(key, hello('sim/echo'))
  const listIds = async () => (await bob.get(`/app/requests?key_id=${key.keyId}`)).body.data.map((row: any) => row.id)
  assert.deepEqual(await listIds(), [completion.id])
  const old = firstIdAt(Date.now() - 31 * day)
  await postgres.pool.query('update calls set id = $1 where id = $2', [old, completion.id])
  assert.deepEqual(await listIds(), [])
  const { data } = (await trace(bob, old)).body
  assert.deepEqual([data.model, data.path, data.asked_model, data.tried], ['sim/echo', null, null, []])
})
