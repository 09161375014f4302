import assert from 'node:assert/strict'
import { test } from 'node:test'
import { script } from '#test/chats/chats.ts'
import { chatting, joined } from '#test/chats/runs.ts'
import { type SentEvent, allEvents, types } from '#test/events.ts'
import { twoServers } from '#test/two-servers.ts'
import { until } from '#test/until.ts'

const { server, alice, beyond } = await twoServers()
const { made, begun, runOf, ended } = chatting(alice)

test('a message to a busy chat is queued, rejected, or interrupts the run', async () => {
  const chat = await made()
  const first = await begun(chat)
  const busy = await alice.post(`/chats/${chat}/messages`, { content: 'x', on_busy: 'reject' })
  assert.deepEqual([busy.status, busy.body.error.code, busy.body.error.details.run_id], [409, 'chat_busy', first])
  const archived = await alice.post(`/chats/${chat}/archive`)
  assert.deepEqual([archived.status, archived.body.error.code], [409, 'chat_busy'])

  const order: string[] = []
  const waiting: Promise<void>[] = []
  for (const name of ['one', 'two', 'three']) {
    const before = (await alice.get(`/chats/${chat}`)).body.data.message_count
    waiting.push(
      // Alternates between two processes: the chat defines the order.
      (name === 'two' ? beyond : alice)
        .post(`/chats/${chat}/messages`, { content: script({ text: name }) })
        .then((answer) => void order.push(answer.body.data.text)),
    )
    await until(
      async () => (await alice.get(`/chats/${chat}`)).body.data.message_count,
      (count) => count !== before,
    )
  }
  const queued = (await alice.get(`/chats/${chat}/runs?status=queued`)).body.data
  assert.deepEqual(
    queued.map((run: { status_reason: string }) => run.status_reason),
    ['chat_busy', 'chat_busy', 'chat_busy'],
  )
  await alice.post(`/chats/${chat}/stop`)
  await Promise.all(waiting)
  const texts = (await alice.get(`/chats/${chat}/messages`)).body.data
    .filter(({ role }: { role: string }) => role === 'assistant')
    .map(({ text }: { text: string }) => text)
  assert.deepEqual(texts, ['first words', 'one', 'two', 'three'])
  const runs = (await alice.get(`/chats/${chat}/runs`)).body.data.toReversed()
  for (const [i, run] of runs.entries())
    if (i > 0) assert.ok(run.started_at >= runs[i - 1].completed_at, `${run.started_at} ${runs[i - 1].completed_at}`)

  const second = await begun(chat, 'cut off')
  const queuedAnswer = alice.post(`/chats/${chat}/messages`, { content: script({ text: 'not reached' }) })
  await until(
    async () => (await alice.get(`/chats/${chat}/runs?status=queued`)).body.data.length,
    (length) => length > 0,
  )
  const taking = await beyond.post(`/chats/${chat}/messages`, {
    content: script({ text: 'now' }),
    on_busy: 'interrupt',
  })
  assert.equal(taking.body.data.text, 'now')
  assert.equal((await runOf(chat, second)).status, 'cancelled')
  const dropped = (await queuedAnswer).body.data
  assert.deepEqual([dropped.run.status, dropped.status, dropped.text], ['cancelled', 'incomplete', ''])
})

test('a queued run can be stopped alone and followed before it starts', async () => {
  const chat = await made()
  const first = await begun(chat)
  const waits = (await alice.post(`/chats/${chat}/messages`, { content: script({ text: 'second' }), background: true }))
    .body.data.resource.id
  const canceledId = (
    await alice.post(`/chats/${chat}/messages`, { content: script({ text: 'third' }), background: true })
  ).body.data.resource.id
  const reading = allEvents(beyond, `/chats/${chat}/runs/${waits}/events`)
  assert.equal((await alice.post(`/chats/${chat}/stop`, { run_id: canceledId })).body.data.status, 'cancelled')
  assert.deepEqual(types(await ended(chat, canceledId)), ['run.cancelled'])
  assert.equal((await runOf(chat, first)).status, 'running')
  await alice.post(`/chats/${chat}/stop`)
  assert.equal(joined(await reading), 'second')
})

test('a queued retry shows why it waits, and starts nothing if stopped', async () => {
  const chat = await made()
  const failing = script({ text: 'x' }, { error: { type: 'server_error', message: 'no' } })
  const { run_id: run } = (await alice.post(`/chats/${chat}/messages`, { content: failing })).body.error.details
  await begun(chat)
  assert.equal((await alice.post(`/chats/${chat}/runs/${run}/retry`, { background: true })).status, 202)
  const waits = await runOf(chat, run)
  assert.deepEqual([waits.status, waits.status_reason, waits.attempt], ['queued', 'chat_busy', 2])
  assert.equal((await beyond.post(`/chats/${chat}/stop`, { run_id: run })).body.data.status, 'cancelled')
  assert.deepEqual(types(await ended(chat, run)).slice(-2), ['run.failed', 'run.cancelled'])
  await alice.post(`/chats/${chat}/stop`)
})

test('a queued message keeps its sender’s permissions, and isn’t answered if the sender has left', async () => {
  const bob = await server.person('Bob')
  await alice.post(`/admin/accounts/${bob.id}/credits`, { amount_usd: 1 })
  const team = (await alice.post('/workspaces', { name: 'Team' })).body.data.id
  const invited = (await alice.post(`/workspaces/${team}/invitations`, { email: bob.email, role: 'member' })).body.data
  assert.equal((await bob.post('/invitations/accept', { token: invited.token })).status, 200)
  const chat = (await alice.post('/chats', { model: 'sim/script', workspace_id: team })).body.data.id
  await begun(chat)
  const waits = (await bob.post(`/chats/${chat}/messages`, { content: script({ text: 'mine' }), background: true }))
    .body.data.resource.id
  const members = (await alice.get(`/workspaces/${team}/members`)).body.data
  const membership = members.find((member: { user_id: string }) => member.user_id === bob.id)
  assert.equal((await alice.delete(`/workspaces/${team}/members/${membership.id}`)).status, 200)
  await alice.post(`/chats/${chat}/stop`)
  const failed = (await ended(chat, waits)).at(-1)!
  assert.deepEqual([failed.event, failed.data.error.code], ['run.failed', 'insufficient_role'])
  assert.equal((await bob.get(`/chats/${chat}`)).status, 404)
})

test('a queued message isn’t answered if its key is revoked', async () => {
  const chat = await made()
  await begun(chat)
  const key = await alice.key()
  const waits = (await key.post(`/chats/${chat}/messages`, { content: script({ text: 'paid' }), background: true }))
    .body.data.resource.id
  assert.equal((await alice.delete(`/api-keys/${key.keyId}`)).status, 200)
  await alice.post(`/chats/${chat}/stop`)
  assert.deepEqual((await ended(chat, waits)).at(-1)!.event, 'run.failed')
  assert.equal((await runOf(chat, waits)).cost_usd, null)
})

test('twenty concurrent messages to an idle chat are answered in turn, each exactly once', async () => {
  const chat = await made()
  const names = Array.from({ length: 20 }, (_, i) => `answer ${i}`)
  const answers = await Promise.all(
    names.map((text, i) =>
      (i % 4 === 3 ? beyond : alice).post(`/chats/${chat}/messages`, { content: script({ text }) }),
    ),
  )
  assert.deepEqual(
    answers.map(({ body }) => body.data.text),
    names,
  )
  const messages = (await alice.get(`/chats/${chat}/messages?limit=100`)).body.data
  assert.deepEqual(
    messages.map(({ seq }: { seq: number }) => seq),
    Array.from({ length: 40 }, (_, i) => i + 1),
  )
  assert.deepEqual(
    messages.slice(1).map(({ parent_id }: { parent_id: string }) => parent_id),
    messages.slice(0, -1).map(({ id }: { id: string }) => id),
  )
})

/** On a slow machine, some of many requests time out waiting for a database connection. Retries those. */
async function eventsOf(path: string, request: { body: object }): Promise<SentEvent[]> {
  try {
    return await allEvents(alice, path, request)
  } catch (error) {
    if (!(error instanceof assert.AssertionError && error.message.includes('concurrency_limited'))) throw error
    return eventsOf(path, request)
  }
}

test('a hundred chats start at once, and each gets and continues its own text', async () => {
  const chats = await Promise.all(Array.from({ length: 100 }, made))
  for (const round of ['first', 'second'])
    await Promise.all(
      chats.map(async (chat, i) => {
        const text = `${round} of ${i}`
        const body = { content: script({ text }) }
        const events = await eventsOf(`/chats/${chat}/messages/stream`, { body })
        assert.equal(joined(events), text)
        assert.deepEqual(types(events).slice(0, 2), ['run.started', 'message.started'])
        assert.deepEqual(await ended(chat, events[0]!.data.run_id), events)
      }),
    )
  const messages = (await alice.get(`/chats/${chats[7]}/messages`)).body.data
  assert.deepEqual(
    messages.filter(({ role }: { role: string }) => role === 'assistant').map(({ text }: { text: string }) => text),
    ['first of 7', 'second of 7'],
  )
})
