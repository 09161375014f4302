import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { type Answer, type Person, type TestServer, testServer } from '#test/server.ts'
import { becomes, until } from '#test/until.ts'
import { fireDue } from './worker.ts'

interface Automation {
  id: string
  token: string
  secret: string
}

async function agentOf(person: Person, more: object = {}): Promise<string> {
  const answer = await person.post('/agents', { name: 'Clerk', model: 'sim/echo', ...more })
  assert.equal(answer.status, 201, answer.text)
  return answer.body.data.id
}

async function make(person: Person, more: object = {}): Promise<Automation> {
  const answer = await person.post('/automations', {
    name: 'Report',
    kind: 'webhook',
    action: { type: 'agent', agent_id: await agentOf(person), prompt: 'Report the news.' },
    ...more,
  })
  assert.equal(answer.status, 201, answer.text)
  return answer.body.data
}

const bearer = ({ token }: Automation) => ({ authorization: `Bearer ${token}` })
const fire = (
  server: TestServer,
  { id }: Automation,
  headers: Record<string, string>,
  body?: object,
): Promise<Answer> => server.stranger.request('POST', `/automations/${id}/fire`, body, headers)

function sign(secret: string, id: string, body: string, at = Date.now()): Record<string, string> {
  const timestamp = String(Math.floor(at / 1000))
  const key = Buffer.from(secret.slice(6), 'base64')
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,bm9uZQ== v1,${signature}` }
}

async function waitForEnd(person: Person, { id }: Automation, runId: string): Promise<Record<string, any>> {
  const run = await until(
    async () =>
      (await person.get(`/automations/${id}/runs?limit=100`)).body.data.find((row: { id: string }) => row.id === runId),
    (run) => run && run.status !== 'queued' && run.status !== 'running',
  )
  return run
}

test('a webhook with a valid token starts its agent, whose chat is readable and includes the webhook body', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const hook = await make(alice)
  const idle = await make(alice)
  assert.match(hook.token, /^ukw_[0-9A-Za-z]{43}$/)
  assert.match(hook.secret, /^whsec_/)
  assert.equal((await alice.get(`/automations/${hook.id}`)).body.data.token, undefined, 'shown once')
  const fireResponse = await fire(server, hook, bearer(hook), { order: 4711 })
  assert.equal(fireResponse.status, 202, fireResponse.text)
  const run = await waitForEnd(alice, hook, fireResponse.body.data.id)
  assert.deepEqual([run.status, run.trigger, run.attempt, run.error], ['succeeded', 'webhook', 1, null])
  const messages = await alice.get(`/chats/${run.chat_id}/messages`)
  assert.deepEqual(
    messages.body.data.map((row: { role: string }) => row.role),
    ['user', 'assistant'],
  )
  assert.match(messages.body.data[1].text, /4711/)
  assert.ok(run.cost_usd > 0)
  const stats = (await alice.get(`/automations/${hook.id}/cost-stats`)).body.data
  assert.deepEqual([stats.runs, stats.succeeded, stats.failed, stats.cost_usd], [1, 1, 0, run.cost_usd])
  const statsById = (await alice.get(`/automations/cost-stats`)).body.data
  assert.equal(statsById.automations[hook.id].cost_usd, run.cost_usd)
  assert.deepEqual(
    [
      statsById.automations[idle.id].runs,
      statsById.automations[idle.id].cost_usd,
      statsById.automations[idle.id].average_cost_usd,
    ],
    [0, 0, null],
  )
  const all = await alice.get(`/automations/runs?workspace_id=${alice.workspaceId}`)
  assert.deepEqual(
    all.body.data.map((row: { id: string }) => row.id),
    [run.id],
  )
  const mallory = await server.person('Mallory')
  assert.equal((await mallory.get(`/automations/${hook.id}/runs`)).status, 404)
  assert.equal((await mallory.get(`/automations/runs?workspace_id=${alice.workspaceId}`)).status, 404)
})

test('Standard Webhooks signatures cover the raw bytes: a changed byte, an old time, another secret and no credentials return 401', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const hook = await make(alice, { overlap: 'allow' })
  const body = JSON.stringify({ hello: 'world' })
  const expectRefusal = async (headers: Record<string, string>, body: object = { hello: 'world' }) => {
    const answer = await fire(server, hook, headers, body)
    return [answer.status, answer.body.error?.code]
  }
  for (const headers of [
    {},
    { authorization: 'Bearer ukw_0000000000000000000000000000000000000000000' },
    sign(hook.secret, 'msg_1', `${body} `),
    sign(hook.secret, 'msg_1', body, Date.now() - 3_600_000),
    sign(`whsec_${Buffer.alloc(32).toString('base64')}`, 'msg_1', body),
    { ...sign(hook.secret, 'msg_1', body), 'webhook-id': 'msg_2' },
    { ...sign(hook.secret, 'msg_1', body), 'webhook-timestamp': 'soon' },
  ])
    assert.deepEqual(await expectRefusal(headers), [401, 'invalid_signature'], JSON.stringify(headers))
  const good = await fire(server, hook, sign(hook.secret, 'msg_1', body), { hello: 'world' })
  assert.equal(good.status, 202, good.text)
  const again = await fire(server, hook, sign(hook.secret, 'msg_1', body), { hello: 'world' })
  assert.deepEqual([again.status, again.body.data.id], [200, good.body.data.id])
  const nowhere = await fire(server, { ...hook, id: alice.id }, bearer(hook))
  assert.deepEqual([nowhere.status, nowhere.body.error.code], [401, 'invalid_signature'], 'as what exists')

  // The signature covers the raw body, which doesn't have to be JSON.
  const sendBody = async (i: number, odd: string, type: string): Promise<Answer> => {
    const headers = { ...sign(hook.secret, `odd_${i}`, odd), 'content-type': type }
    const answer = await server.stranger.request('POST', `/automations/${hook.id}/fire`, odd, headers)
    assert.equal(answer.status, 202, answer.text)
    return answer
  }
  await sendBody(1, '{ "a" : 1.0,\n  "a": "\\u00fc" }  ', 'application/json')
  await sendBody(2, 'no JSON at all {', 'text/plain; charset=latin1')
  await sendBody(3, '', 'application/x-www-form-urlencoded')
  // The body arrives in many chunks. The agent gets its start, cut before a surrogate pair.
  const many = await sendBody(4, `${'x'.repeat(199_999)}😀${'y'.repeat(800_000)}`, 'text/plain')
  const { chat_id } = await waitForEnd(alice, hook, many.body.data.id)
  const [promptMessage] = (await alice.get(`/chats/${chat_id}/messages`)).body.data
  assert.match(promptMessage.content[1].text, /\nx{199999}\n--- /)
  const long = 'x'.repeat(2 ** 20 + 1)
  const large = await server.stranger.request(
    'POST',
    `/automations/${hook.id}/fire`,
    long,
    sign(hook.secret, 'l', long),
  )
  assert.deepEqual([large.status, large.body.error.type], [413, 'payload_too_large'])
  const headersWithId = { ...bearer(hook), 'webhook-id': 'with a token' }
  assert.deepEqual(
    [(await fire(server, hook, headersWithId)).status, (await fire(server, hook, headersWithId)).status],
    [202, 200],
  )
})

test('200 simultaneous deliveries through two processes start one run; after a rotation both secrets are valid for a while', async () => {
  await using server = await testServer()
  await using twin = await server.twin()
  const alice = await server.person('Alice')
  const hook = await make(alice)
  const headers = sign(hook.secret, 'msg_1', '{}')
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, i) => fire(i % 2 === 0 ? server : twin, hook, headers, {})),
  )
  assert.equal(new Set(answers.map(({ body }) => body.data.id)).size, 1)
  assert.deepEqual(answers.map(({ status }) => status).filter((status) => status === 202).length, 1)
  await waitForEnd(alice, hook, answers[0]!.body.data.id)
  assert.equal((await alice.get(`/automations/${hook.id}/runs`)).body.data.length, 1)

  const rotation = (await alice.post(`/automations/${hook.id}/rotate-secret`, {})).body.data
  assert.equal((await fire(server, hook, sign(hook.secret, 'msg_2', '{}'), {})).status, 202)
  assert.equal((await fire(server, hook, sign(rotation.secret, 'msg_3', '{}'), {})).status, 202)
  assert.equal((await fire(server, hook, bearer(rotation))).status, 202)
  const last = (await alice.post(`/automations/${hook.id}/rotate-secret`, { overlap_seconds: 0 })).body.data
  assert.equal((await fire(server, hook, bearer(rotation))).status, 401)
  assert.equal((await fire(server, hook, bearer(last))).status, 202)
})

test('a schedule fires once per tick across two processes, and missed ticks are reported', async () => {
  await using server = await testServer()
  await using _twin = await server.twin()
  const alice = await server.person('Alice')
  const automation = await make(alice, { kind: 'cron', schedule: '* * * * * *', overlap: 'allow', catch_up: 'none' })
  const { id } = automation
  const rows = await until<Record<string, any>[]>(
    async () => (await alice.get(`/automations/${id}/runs?limit=100`)).body.data,
    (all) => all.filter(({ status }) => status === 'succeeded').length >= 2,
  )
  assert.equal(new Set(rows.map(({ scheduled_for }) => scheduled_for)).size, rows.length)

  await alice.post(`/automations/${id}/archive`)
  const { engine } = server.app
  await alice.patch(`/automations/${id}`, { schedule: '0 * * * *' })
  const hours = 50
  const now = new Date(Math.ceil(Date.now() / 3_600_000) * 3_600_000 + (hours - 1) * 3_600_000 + 1_000)
  await alice.post(`/automations/${id}/unarchive`)
  // While a run ends, its automation is locked and skipped.
  const nextRun = async (): Promise<string> => {
    while (await fireDue(engine, now));
    return (await alice.get(`/automations/${id}`)).body.data.next_run_at
  }
  await until(nextRun, (next) => Date.parse(next) > now.getTime())
  // On a slow machine, ticks of the first schedule may be missed too.
  const missedRuns = (await alice.get(`/automations/${id}/runs?limit=100&status=skipped`)).body.data.filter(
    (row: { skip_reason: string; scheduled_for: string }) =>
      row.skip_reason === 'missed' && Date.parse(row.scheduled_for) > Date.now(),
  )
  assert.equal(missedRuns.length, hours - 1, 'each tick of the downtime is a row; the last was on time')
  const last = (await alice.get(`/automations/${id}/runs?limit=1`)).body.data[0]
  assert.equal(last.scheduled_for, new Date(now.getTime() - 1_000).toISOString())
  assert.equal(last.skip_reason, null)
})

test('archived automations never fire and their ticks are reported; overlapping runs are skipped, queued or replace the previous one', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const slow = await agentOf(alice, { model: 'sim/script' })
  const prompt = JSON.stringify({ steps: [{ text: 'one' }, { delay_ms: 120_000 }, { text: 'two' }] })
  const going = async (overlap: string) => {
    const hook = await make(alice, { overlap, action: { type: 'agent', agent_id: slow, prompt } })
    const first = (await fire(server, hook, bearer(hook))).body.data
    const second = (await alice.post(`/automations/${hook.id}/test-fire`)).body.data
    return { hook, first, second }
  }
  const skip = await going('skip')
  assert.deepEqual([skip.second.status, skip.second.skip_reason], ['skipped', 'overlap'])
  assert.ok(skip.second.completed_at >= skip.second.created_at)
  const queue = await going('queue')
  assert.equal(queue.second.status, 'queued')
  const replace = await going('cancel_previous')
  assert.equal((await waitForEnd(alice, replace.hook, replace.first.id)).status, 'cancelled')

  const cancelResponse = await alice.post(`/automations/${queue.hook.id}/runs/${queue.first.id}/cancel`)
  assert.deepEqual([cancelResponse.status, cancelResponse.body.data.status], [200, 'cancelled'], cancelResponse.text)
  // The queued run starts.
  await becomes(
    async () => (await alice.get(`/automations/${queue.hook.id}/runs?status=running`)).body.data[0]?.id,
    queue.second.id,
  )
  const again = await alice.post(`/automations/${queue.hook.id}/runs/${queue.first.id}/retry`)
  assert.deepEqual([again.status, again.body.data.attempt, again.body.data.status], [202, 2, 'queued'])
  assert.equal(
    (await alice.post(`/automations/${queue.hook.id}/runs/${queue.second.id}/retry`)).body.error.code,
    'invalid_state',
  )

  await alice.post(`/automations/${skip.hook.id}/archive`)
  assert.equal((await fire(server, skip.hook, bearer(skip.hook))).body.error.code, 'invalid_state')
  const cron = await make(alice, { kind: 'cron', schedule: '0 * * * *' })
  await alice.post(`/automations/${cron.id}/archive`)
  await fireDue(server.app.engine, new Date(Date.now() + 3_600_000))
  const [row] = (await alice.get(`/automations/${cron.id}/runs`)).body.data
  assert.deepEqual([row.status, row.skip_reason], ['skipped', 'archived'])
  for (const { hook } of [skip, queue, replace])
    assert.equal((await alice.delete(`/automations/${hook.id}`)).status, 200)
})

test('an automation is archived after ten failures, its creator is notified, and a person can restore it', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const agent = await agentOf(alice, { model: 'sim/script' })
  const prompt = JSON.stringify({ steps: [{ error: { type: 'server_error', message: 'no paper' } }] })
  const hook = await make(alice, { overlap: 'allow', action: { type: 'agent', agent_id: agent, prompt } })
  for (let i = 0; i < 10; i++) {
    const { id } = (await fire(server, hook, bearer(hook))).body.data
    const run = await waitForEnd(alice, hook, id)
    assert.equal(run.status, 'failed')
    assert.ok(run.error.message)
  }
  const pausedAutomation = (await alice.get(`/automations/${hook.id}`)).body.data
  assert.deepEqual([pausedAutomation.status, pausedAutomation.paused_reason], ['archived', 'failures'])
  await until(
    () => alice.get('/notifications?limit=100'),
    ({ body }) => body.data.some((row: { type: string }) => row.type === 'automation.paused'),
  )
  const back = (await alice.post(`/automations/${hook.id}/unarchive`)).body.data
  assert.deepEqual([back.status, back.paused_reason], ['active', null])
})

test('an automation has only its creator’s current permissions', async () => {
  await using server = await testServer({ environment: { UK_SIGN_UP_CREDITS_USD: '5' } })
  const [alice, bob] = [await server.person('Alice'), await server.person('Bob')]
  const { id: team } = (await alice.post('/workspaces', { name: 'Team' })).body.data
  const { token } = (await alice.post(`/workspaces/${team}/invitations`, { email: bob.email, role: 'member' })).body
    .data
  await bob.post('/invitations/accept', { token })
  const agent = (await alice.post('/agents', { name: 'Clerk', model: 'sim/echo', workspace_id: team })).body.data.id
  const body = {
    name: 'X',
    kind: 'webhook',
    workspace_id: team,
    action: { type: 'agent', agent_id: agent, prompt: 'Hello' },
  }
  const weak = await bob.key({ scopes: ['automation:write', 'agent:read'] })
  assert.deepEqual((await weak.post('/automations', body)).body.error.details, { required_scope: 'chat:write' })
  const elsewhere = {
    ...body,
    action: { ...body.action, agent_id: (await alice.post('/agents', { name: 'Mine' })).body.data.id },
  }
  assert.equal((await bob.post('/automations', elsewhere)).body.error.param, 'action.agent_id')
  const command = { ...body, action: { type: 'command', computer_id: team, command: 'ls' } }
  assert.deepEqual(
    [(await bob.post('/automations', command)).status, (await bob.post('/automations', command)).body.error.param],
    [404, 'action.computer_id'],
  )

  const hook = (await bob.post('/automations', body)).body.data
  const first = (await fire(server, hook, bearer(hook))).body.data
  assert.equal((await waitForEnd(alice, hook, first.id)).status, 'succeeded')
  await alice.delete(`/workspaces/${team}/members/${bob.id}`)
  const second = (await fire(server, hook, bearer(hook))).body.data
  const run = await waitForEnd(alice, hook, second.id)
  assert.equal(run.status, 'failed')
  assert.ok(['not_found', 'forbidden'].includes(run.error.type), JSON.stringify(run.error))
})
