import assert from 'node:assert/strict'
import { test } from 'node:test'
import { script } from '#test/chats/chats.ts'
import { chatting, joined } from '#test/chats/runs.ts'
import { type SentEvent, allEvents, readEvents, types } from '#test/events.ts'
import type { Person } from '#test/server.ts'
import { twoServers } from '#test/two-servers.ts'
import { until } from '#test/until.ts'

const { server, alice, beyond } = await twoServers()
const { made, begun, runOf, ended } = chatting(alice)

const telling = script(
  { reasoning: 'Let me think' },
  { text: 'One 🦄 and two' },
  { delay_ms: 30 },
  { tool_call: { name: 'look', arguments: { at: 'it' } } },
  { text: 'then three' },
  { delay_ms: 30 },
  { text: ' and four' },
)

test('a stream sends all events in order, and the log is the same from any event', async () => {
  const chat = await made()
  const events = await allEvents(alice, `/chats/${chat}/messages/stream`, { body: { content: telling } })
  const runId = events[0]!.data.run_id
  assert.deepEqual(types(events).slice(0, 2), ['run.started', 'message.started'])
  assert.deepEqual(types(events).slice(-3), ['message.completed', 'usage', 'run.completed'])
  events.forEach(({ id, data }, i) => {
    assert.deepEqual([id, data.seq, data.run_id], [String(i + 1), i + 1, runId])
    assert.match(data.at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  })
  const { message } = events.at(-3)!.data
  assert.equal(joined(events), message.text)
  assert.deepEqual(
    message.content.map((part: { type: string }) => part.type),
    ['reasoning', 'text', 'tool_call', 'text'],
  )
  const call = events.find(({ event }) => event === 'tool_call.completed')!.data
  assert.deepEqual([call.name, JSON.parse(call.arguments)], ['look', { at: 'it' }])
  const listed = (await alice.get(`/chats/${chat}/messages`)).body.data
  assert.deepEqual(listed[1], message)
  assert.deepEqual(events.at(-1)!.data.run, await runOf(chat, runId))

  const path = `/chats/${chat}/runs/${runId}/events`
  for (let after = 0; after <= events.length; after++) {
    assert.deepEqual(await allEvents(alice, path, { headers: { 'last-event-id': String(after) } }), events.slice(after))
    assert.deepEqual(await allEvents(beyond, `${path}?last_event_id=${after}`), events.slice(after))
  }
  const garbage = await alice.get(path, { 'last-event-id': 'x' })
  assert.deepEqual([garbage.status, garbage.body.error.param], [400, 'last_event_id'])
})

test('readers can disconnect and resume at any time without missing events', async () => {
  const chat = await made()
  const steps = Array.from({ length: 12 }, (_, i) => [{ text: ` word${i}` }, { delay_ms: 15 }]).flat()
  let seen: SentEvent[] = []
  let run = ''
  for await (const event of readEvents(alice, `/chats/${chat}/messages/stream`, {
    body: { content: script(...steps) },
  })) {
    seen.push(event)
    run = event.data.run_id
    if (event.event === 'text.delta') break
  }
  // From here on, drops each connection after two events, alternating between the processes.
  for (let turn = 0; !types(seen).includes('run.completed'); turn++) {
    const more: SentEvent[] = []
    for await (const event of readEvents(turn % 2 ? alice : beyond, `/chats/${chat}/runs/${run}/events`, {
      headers: { 'last-event-id': seen.at(-1)!.id },
    }))
      if (more.push(event) === 2) break
    seen = [...seen, ...more]
  }
  assert.deepEqual(seen, await ended(chat, run))
  assert.equal(joined(seen), seen.at(-3)!.data.message.text)
  assert.equal(joined(seen), Array.from({ length: 12 }, (_, i) => ` word${i}`).join(''))
})

test('another process shows a run while it is active', async () => {
  const chat = await made()
  const run = await begun(chat)
  const reading = allEvents(beyond, `/chats/${chat}/runs/${run}/events`)
  const stopped = await beyond.post(`/chats/${chat}/stop`)
  assert.deepEqual([stopped.status, stopped.body.data.status], [200, 'cancelled'])
  assert.equal(types(await reading).at(-1), 'run.cancelled')
  assert.deepEqual(await reading, await ended(chat, run))
})

test('a stopped run keeps its partial answer, and stopping needs an active run', async () => {
  const chat = await made()
  const nothing = await alice.post(`/chats/${chat}/stop`)
  assert.deepEqual([nothing.status, nothing.body.error.code], [409, 'invalid_state'])
  const run = await begun(chat, 'kept')
  assert.equal((await alice.get(`/chats/${chat}`)).body.data.active_run_id, run)
  const stopped = await alice.post(`/chats/${chat}/stop`)
  assert.deepEqual([stopped.status, stopped.body.data.id, stopped.body.data.status], [200, run, 'cancelled'])
  assert.deepEqual((await alice.post(`/chats/${chat}/stop`)).body.data, stopped.body.data)
  const events = await ended(chat, run)
  assert.deepEqual(types(events).slice(-3), ['message.completed', 'usage', 'run.cancelled'])
  const message = (await alice.get(`/chats/${chat}/messages`)).body.data[1]
  assert.deepEqual([message.status, message.text, joined(events)], ['incomplete', 'kept', 'kept'])
  assert.equal(message.cost_usd, stopped.body.data.cost_usd)
  assert.ok(message.cost_usd > 0)

  const next = await alice.post(`/chats/${chat}/messages`, { content: script({ text: 'on we go' }) })
  assert.equal(next.body.data.text, 'on we go')
  const stopResponse = await alice.post(`/chats/${chat}/stop`)
  assert.deepEqual([stopResponse.status, stopResponse.body.error.details.status], [409, 'completed'])
  const retried = await alice.post(`/chats/${chat}/runs/${run}/retry`)
  assert.deepEqual([retried.status, retried.body.error.details.status], [409, 'cancelled'])
})

test('a run stopped before its first output costs its input', async () => {
  const chat = await made()
  // With a spend cap, the ledger reserves the call before it is sent and marks it afterwards.
  const capped = await alice.key({ spend_cap_usd: 1 })
  const content = script({ delay_ms: 60_000 })
  const { id } = (await capped.post(`/chats/${chat}/messages`, { content, background: true })).body.data.resource
  const { pool } = server.app.engine.postgres
  await until(
    () => pool.query(`select 1 from reservations where sent_at is not null and call ->> 'run_id' = $1`, [id]),
    ({ rowCount }) => rowCount !== 0,
  )
  const stopped = (await alice.post(`/chats/${chat}/stop`)).body.data
  const [, message] = (await alice.get(`/chats/${chat}/messages`)).body.data
  assert.deepEqual([stopped.status, message.status, message.text], ['cancelled', 'incomplete', ''])
  assert.deepEqual([message.usage.input_tokens, message.usage.output_tokens], [1, 0])
  assert.deepEqual([message.cost_usd, stopped.cost_usd], [0.000001, 0.000001])
  await server.app.engine.ledger.flush()
  const { rows } = await pool.query('select status, cost_nano from calls where run_id = $1', [id])
  assert.deepEqual(rows, [{ status: 'cancelled', cost_nano: 1_000n }])
})

test('a failed run reports its error, keeps its text, and retries as a sibling', async () => {
  const chat = await made()
  const content = script({ text: 'half of' }, { error: { type: 'overloaded', message: 'too much' } })
  const events = await allEvents(alice, `/chats/${chat}/messages/stream`, { body: { content } })
  const failed = events.at(-1)!
  assert.deepEqual([failed.event, failed.data.run.status], ['run.failed', 'failed'])
  assert.deepEqual(failed.data.error, failed.data.run.error)
  assert.equal(failed.data.error.message, 'too much')
  const run = failed.data.run_id
  const refused = await alice.post(`/chats/${chat}/runs/${run}/retry`)
  assert.deepEqual([refused.status, refused.body.error.details.run_id], [503, run])
  const log = await ended(chat, run)
  assert.deepEqual(log.slice(0, events.length), events)
  assert.deepEqual(
    types(log).filter((type) => type.startsWith('run.')),
    ['run.started', 'run.failed', 'run.started', 'run.failed'],
  )
  assert.deepEqual(
    log.map(({ id }) => Number(id)),
    log.map((_, i) => i + 1),
  )
  const messages = (await alice.get(`/chats/${chat}/messages?branch=all`)).body.data
  assert.deepEqual(
    messages.map((message: { status: string; text: string }) => [message.status, message.text]),
    [
      ['completed', content],
      ['failed', 'half of'],
      ['failed', 'half of'],
    ],
  )
  assert.equal(messages[1].parent_id, messages[2].parent_id)
  assert.deepEqual([(await runOf(chat, run)).attempt, (await runOf(chat, run)).output_message_id], [2, messages[2].id])
})

test('a log read to the end of an attempt continues with the next', async () => {
  const chat = await made()
  const failing = script({ text: 'x' }, { error: { type: 'server_error', message: 'no' } })
  const { run_id: run } = (await alice.post(`/chats/${chat}/messages`, { content: failing })).body.error.details
  const attempts = 101
  for (let n = 1; n < attempts; n++) await alice.post(`/chats/${chat}/runs/${run}/retry`)
  const log = await ended(chat, run)
  assert.equal(log.filter(({ event }) => event === 'run.failed').length, attempts)
  // The test needs a log page that ends with an attempt.
  assert.equal(log[499]!.event, 'run.failed')
})

test('a background operation ends with its run, and canceling it stops the run', async () => {
  const chat = await made()
  const response = await alice.post(`/chats/${chat}/messages`, { content: script({ text: 'done' }), background: true })
  assert.equal(response.status, 202)
  let operation = response.body.data
  while (['queued', 'running'].includes(operation.status))
    operation = (await alice.get(`/operations/${operation.id}/await?since_status=${operation.status}`)).body.data
  assert.deepEqual(
    [operation.status, operation.result.text, operation.result.run.status],
    ['succeeded', 'done', 'completed'],
  )
  assert.equal(operation.cost_usd, operation.result.run.cost_usd)

  // After a stop in the chat, the operation isn't a success, and its result is the partial answer.
  const partialContent = script({ text: 'half' }, { delay_ms: 60_000 })
  const stopped = (await alice.post(`/chats/${chat}/messages`, { content: partialContent, background: true })).body.data
  await alice.post(`/chats/${chat}/stop`, { run_id: stopped.resource.id })
  for (operation = stopped; ['queued', 'running'].includes(operation.status);)
    operation = (await alice.get(`/operations/${operation.id}/await?since_status=${operation.status}`)).body.data
  assert.deepEqual([operation.status, operation.result.run.status], ['cancelled', 'cancelled'])

  const long = await alice.post(`/chats/${chat}/messages`, { content: script({ delay_ms: 60_000 }), background: true })
  const { id, resource } = long.body.data
  while ((await alice.get(`/operations/${id}`)).body.data.status === 'queued')
    await alice.get(`/operations/${id}/await?since_status=queued`)
  await alice.post(`/operations/${id}/cancel`)
  assert.equal(types(await ended(chat, resource.id)).at(-1), 'run.cancelled')
})

test('trashing a chat stops its runs', async () => {
  const chat = await made()
  const run = await begun(chat)
  const reading = ended(chat, run)
  assert.equal((await beyond.delete(`/chats/${chat}`)).status, 200)
  assert.equal(types(await reading).at(-1), 'run.cancelled')
})

test('a run ends even if its text and numbers can’t be stored', async () => {
  for (const [content, end, kept] of [
    [
      script({ tool_call: { name: 'lo\0ok', arguments: 'x\0\ud800' } }),
      'run.completed',
      ['look', '{"arguments":"x\\u0000\ufffd"}'],
    ],
    [script({ error: { type: 'server_error', message: 'no\0 \ud800' } }), 'run.failed', 'no \ufffd'],
    // Without a cap, usage is recorded up to the column's limit.
    [JSON.stringify({ steps: [{ text: 'said' }], usage: { output_tokens: 1e300 } }), 'run.completed', 'said'],
  ] as const) {
    const chat = await made()
    const events = await allEvents(alice, `/chats/${chat}/messages/stream`, { body: { content } })
    const { run, error } = events.at(-1)!.data
    assert.equal(events.at(-1)!.event, end)
    const { content: parts, text } = (await alice.get(`/chats/${chat}/messages`)).body.data[1]
    assert.deepEqual(parts[0]?.name ? [parts[0].name, parts[0].arguments] : text || error.message, kept)
    assert.deepEqual(await runOf(chat, run.id), run)
    assert.equal((await alice.get(`/chats/${chat}`)).body.data.active_run_id, null)
  }
})

test('a position past the end of the log returns only the end', async () => {
  const chat = await made()
  const { run } = (await alice.post(`/chats/${chat}/messages`, { content: telling })).body.data
  const { length } = await ended(chat, run.id)
  for (const after of [length, length + 1, 2 ** 31, Number.MAX_SAFE_INTEGER])
    assert.deepEqual(await allEvents(beyond, `/chats/${chat}/runs/${run.id}/events?last_event_id=${after}`), [])
})

test('deleting a workspace disconnects its runs from the provider and ends pending requests', async () => {
  const team = (await alice.post('/workspaces', { name: 'Gone soon' })).body.data.id
  const chat = (await alice.post('/chats', { model: 'sim/script', workspace_id: team })).body.data.id
  const run = await begun(chat)
  const reading = ended(chat, run)
  const waiting = alice.post(`/chats/${chat}/messages`, { content: 'never answered' })
  await until(
    async () => (await alice.get(`/chats/${chat}/runs`)).body.data.length,
    (length) => length >= 2,
  )
  assert.equal((await beyond.delete(`/workspaces/${team}?confirm=Gone%20soon`)).status, 200)
  assert.equal((await waiting).status, 404)
  assert.equal(joined(await reading), 'first words')
  const { engine } = server.app
  for (;;) {
    await engine.ledger.flush()
    const { rows } = await engine.postgres.pool.query('select status from calls where run_id = $1', [run])
    if (rows[0]?.status === 'cancelled') break
  }
})

test('with edit access to a shared chat, a user sends and stops on their own account; viewers only follow', async () => {
  const [bob, carol] = await Promise.all([server.person('Bobby'), server.person('Carol')])
  await alice.post(`/admin/accounts/${bob.id}/credits`, { amount_usd: 1 })
  const chat = await made()
  const share = async (to: Person, access: string): Promise<string> => {
    const shareInput = { resource_type: 'chat', resource_id: chat, grantee: { email: to.email }, access }
    const { id, token } = (await alice.post('/shares', shareInput)).body.data
    assert.equal((await to.post('/invitations/accept', { token })).status, 200)
    return id
  }
  const toBob = await share(bob, 'edit')
  await share(carol, 'view')
  const response = await bob.post(`/chats/${chat}/messages`, { content: script({ text: 'for bob' }) })
  assert.deepEqual(
    [response.status, response.body.data?.text, response.body.data?.run.created_by],
    [200, 'for bob', bob.id],
  )
  const { rows } = await server.app.engine.postgres.pool.query('select account_id from runs where id = $1', [
    response.body.data.run.id,
  ])
  assert.deepEqual(rows, [{ account_id: bob.id }])
  const run = await begun(chat)
  const followed = allEvents(carol, `/chats/${chat}/runs/${run}/events`)
  for (const refused of [
    await carol.post(`/chats/${chat}/messages`, { content: script({ text: 'no' }) }),
    await carol.post(`/chats/${chat}/stop`),
  ])
    assert.deepEqual([refused.status, refused.body.error.code], [403, 'insufficient_role'])
  assert.equal((await bob.post(`/chats/${chat}/stop`)).body.data.status, 'cancelled')
  assert.equal(types(await followed).at(-1), 'run.cancelled')

  // The share is revoked while Bob's next message is queued, so it isn't answered.
  const ahead = await begun(chat)
  const waits = (await bob.post(`/chats/${chat}/messages`, { content: script({ text: 'late' }), background: true }))
    .body.data.resource.id
  await alice.delete('/shares', { share_id: toBob })
  await alice.post(`/chats/${chat}/stop`, { run_id: ahead })
  assert.equal((await ended(chat, waits)).at(-1)!.event, 'run.failed')
  assert.equal((await bob.post(`/chats/${chat}/stop`)).status, 404)
})

test('a run continues in a workspace archived meanwhile, and can be stopped there', async () => {
  const workspace_id = (await alice.post('/workspaces', { name: 'Closing' })).body.data.id
  const chat = (await alice.post('/chats', { model: 'sim/script', workspace_id })).body.data.id
  const run = await begun(chat)
  assert.equal((await alice.post(`/workspaces/${workspace_id}/archive`)).status, 200)
  const stopped = await alice.post(`/chats/${chat}/stop`)
  assert.deepEqual([stopped.status, stopped.body.data?.id, stopped.body.data?.status], [200, run, 'cancelled'])
  assert.equal((await alice.post(`/chats/${chat}/messages`, { content: script({ text: 'x' }) })).status, 409)
})
