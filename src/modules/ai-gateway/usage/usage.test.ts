import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Caller, type Person, type TestServer, testServer } from '#test/server.ts'

let server: TestServer
let twin: TestServer
let alice: Person
let bob: Person
let carol: Person
let team: string
let hers: Caller & { keyId: string }
let his: Caller & { keyId: string }

const ask = (by: Caller, model = 'sim/echo', content = 'one two three') =>
  by.post('/inference/text', { model, messages: [{ role: 'user', content }] })
const script = JSON.stringify({ steps: [{ text: 'a b c d' }] })

before(async () => {
  server = await testServer()
  twin = await server.twin()
  alice = await server.person('Alice')
  bob = await server.person('Bob')
  carol = await server.person('Carol')
  team = (await alice.post('/workspaces', { name: 'Team' })).body.data.id
  const invitation = await alice.post(`/workspaces/${team}/invitations`, { email: bob.email, role: 'member' })
  await bob.post('/invitations/accept', { token: invitation.body.data.token })
  await alice.post(`/admin/accounts/${bob.id}/credits`, { amount_usd: 1 })
  hers = await alice.key({ workspace_id: team, name: 'hers' })
  his = await bob.key({ workspace_id: team, name: 'his' })
  const there = (by: Caller): Caller => ({ ...by, post: (path, body) => postTo(twin.origin, by, path, body) })
  const answers = await Promise.all([
    ask(hers),
    ask(there(hers)),
    ask(hers, 'sim/script', script),
    ask(his),
    ask(there(his)),
    ask(await bob.key()),
    his.post('/compat-a/v1/chat/completions', { model: 'sim/echo', messages: [{ role: 'user', content: 'one' }] }),
  ])
  for (const { status, text } of answers) assert.equal(status, 200, text)
  await twin.app.engine.ledger.flush()
})
after(async () => {
  await twin[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

async function postTo(origin: string, by: Caller, path: string, body: unknown) {
  const response = await fetch(`${origin}/v1${path}`, {
    method: 'POST',
    headers: { ...by.headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, body: JSON.parse(text) }
}

const usage = async (by: Caller, query = '') => (await by.get(`/ai-gateway/usage${query}`)).body.data
const findGroup = (rows: { [name: string]: unknown; calls: number }[], name: string) =>
  Object.fromEntries(rows.map((row) => [String(row[name]), row.calls]))

test('admins see the usage of the whole workspace, members their own, and non-members 404', async () => {
  const all = await usage(alice, `?workspace_id=${team}`)
  assert.deepEqual([all.whose, all.total.calls], ['workspace', 6])
  assert.deepEqual(findGroup(all.by_model, 'model'), { 'sim/echo': 5, 'sim/script': 1 })
  assert.deepEqual(findGroup(all.by_key, 'name'), { hers: 3, his: 3 })
  assert.deepEqual(findGroup(all.by_member, 'name'), { Alice: 3, Bob: 3 })
  assert.deepEqual(findGroup(all.by_surface, 'surface'), { inference: 5, 'compat-a': 1 })
  assert.deepEqual(findGroup(all.by_provider, 'provider'), { sim: 6 })
  assert.equal(all.by_day.length, 1)
  assert.deepEqual(findGroup(all.series, 'name'), { 'sim/echo': 5, 'sim/script': 1 })
  const mine = await usage(bob, `?workspace_id=${team}`)
  // Invited members use the simulated models for free.
  assert.deepEqual([mine.whose, mine.total.calls, mine.total.charged_usd], ['account', 3, 0])
  assert.equal((await usage(bob)).total.calls, 4)
  assert.equal((await usage(his)).total.calls, 3, 'a key of one workspace sees that one')
  assert.equal((await carol.get(`/ai-gateway/usage?workspace_id=${team}`)).status, 404)
  assert.equal((await bob.get('/ai-gateway/usage?instance=true')).body.error.code, 'insufficient_role')
  assert.equal((await usage(alice, '?instance=true')).total.calls, 7)
})

test('filters and days narrow the sums, which match the calls to the nano-dollar', async () => {
  const { pool } = server.app.engine.postgres
  const { rows } = await pool.query(
    `select count(*)::int as calls, sum(cost_nano)::int8 as cost, sum(total_tokens)::int as tokens, sum(duration_ms)::int8 as ms
      from calls where workspace_id = $1 and model = 'sim/echo'`,
    [team],
  )
  const { total } = await usage(alice, `?workspace_id=${team}&model=sim/echo`)
  assert.deepEqual(
    [total.calls, BigInt(Math.round(total.cost_usd * 1e9)), total.usage.total_tokens],
    [rows[0].calls, rows[0].cost, rows[0].tokens],
  )
  assert.equal((await usage(alice, `?workspace_id=${team}&key_id=${his.keyId}&series=key`)).series[0].name, his.keyId)
  assert.equal((await usage(alice, `?workspace_id=${team}&from=2020-01-01&to=2020-01-31`)).total.calls, 0)
  assert.equal((await usage(alice, `?workspace_id=${team}&surface=compat-a`)).total.calls, 1)
  const wrong = await alice.get('/ai-gateway/usage?from=2026-02-01&to=2026-01-01')
  assert.deepEqual([wrong.status, wrong.body.error.param], [400, 'from'])
  assert.equal((await alice.get('/ai-gateway/usage?from=yesterday')).status, 400)
})

test('calls are paged by day, model and key, and never include another user’s', async () => {
  const first = await bob.get('/me/usage?view=history&limit=3')
  assert.equal(first.status, 200, first.text)
  assert.equal(first.body.data.length, 3)
  const rest = await bob.get(`/me/usage?view=history&limit=3&cursor=${first.body.pagination.next_cursor}`)
  assert.deepEqual([rest.body.data.length, rest.body.pagination.has_more], [1, false])
  const all = [...first.body.data, ...rest.body.data]
  assert.ok(all.every((call) => call.charged_usd === 0 && call.cost_usd > 0))
  const count = async (query: string) => (await bob.get(`/me/usage?view=history${query}`)).body.data.length
  const today = new Date().toISOString().slice(0, 10)
  assert.deepEqual(
    await Promise.all([`&key_id=${his.keyId}`, '&model=sim/script', `&day=${today}`, '&day=2020-02-02'].map(count)),
    [3, 0, 4, 0],
  )
  assert.equal(await count(`&workspace_id=${team}`), 3)
  assert.equal((await bob.get(`/me/usage?view=history&workspace_id=${carol.workspaceId}`)).status, 404)
  assert.equal((await his.get('/me/usage?view=history')).body.data.length, 3)
  const narrow = await bob.key({ scopes: ['gateway:run'] })
  assert.equal((await narrow.get('/me/usage')).body.error.details.required_scope, 'usage:read')
})

test('the summary shows storage by kind, the remaining credits and the spending', async () => {
  await bob.post('/agents', { name: 'Helper', workspace_id: team })
  const file = await bob.post('/drive/files', { workspace_id: team, name: 'a.txt', content: 'twelve bytes' })
  assert.equal(file.status, 201, file.text)
  const { data } = (await bob.get('/me/usage')).body
  assert.equal(data.id, bob.id)
  assert.equal(data.balance_usd, Number((1 - data.calls.total.charged_usd).toFixed(9)))
  assert.deepEqual([data.calls.today.calls, data.calls.this_month.calls, data.calls.total.calls], [4, 4, 4])
  const there = data.storage.workspaces.find(({ workspace_id }: { workspace_id: string }) => workspace_id === team)
  assert.deepEqual(there, {
    workspace_id: team,
    count: 2,
    size_bytes: 12,
    kinds: [
      { kind: 'agent', count: 1, size_bytes: null },
      { kind: 'file', count: 1, size_bytes: 12 },
    ],
  })
  assert.equal(data.storage.size_bytes, 12)
  assert.equal((await alice.get('/me/usage')).body.data.balance_usd, null, 'an unlimited account draws on none')
})

test('an account outside of workspaces pays for every request', async () => {
  await alice.post(`/admin/accounts/${carol.id}/credits`, { amount_usd: 1 })
  for (const model of ['sim/echo', 'sim/script'])
    assert.equal((await ask(carol, model, model === 'sim/echo' ? 'one two three' : script)).status, 200)
  await server.app.engine.ledger.flush()
  const calls = (await carol.get('/me/usage?view=history')).body.data
  assert.equal(calls.length, 2)
  for (const { charged_usd, cost_usd } of calls) assert.ok(charged_usd === cost_usd && cost_usd > 0)
  const { total } = await usage(carol)
  assert.ok(total.charged_usd === total.cost_usd && total.cost_usd > 0)
})
