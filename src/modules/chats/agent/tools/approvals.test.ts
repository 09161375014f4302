import assert from 'node:assert/strict'
import { test } from 'node:test'
import { call, results, say, script } from '#test/chats/chats.ts'
import { allEvents, types } from '#test/events.ts'
import type { Caller, Person } from '#test/server.ts'
import { twoServers } from '#test/two-servers.ts'

const { server, alice, beyond } = await twoServers({ environment: { UK_UPSTREAM_ALLOW: '127.0.0.1' } })

async function chatWith(tools: object[], more: object = {}, who: Person = alice): Promise<string> {
  const agent = (await who.post('/agents', { name: 'Worker', model: 'sim/script', tools, ...more })).body.data.id
  return (await who.post('/chats', { agent_id: agent })).body.data.id
}
const send = (chat: string, content: string, who: Caller = alice) => who.post(`/chats/${chat}/messages`, { content })

test('tools set to ask wait for approval in any process, and denied tools return an error to the model', async () => {
  const chat = await chatWith([{ name: 'chats.create', policy: 'ask' }])
  const content = script(
    [say('May I? '), call('chats_create', { title: 'allowed' }), call('chats_create', { title: 'denied' })],
    [say('thanks')],
  )
  const answer = await send(chat, content)
  assert.equal(answer.status, 200, answer.text)
  const { run } = answer.body.data
  assert.deepEqual(
    [run.status, run.status_reason, answer.body.data.status],
    ['requires_action', 'approval', 'in_progress'],
  )
  assert.deepEqual(
    run.pending_actions.map(({ kind, tool, arguments: given }: any) => [kind, tool, given.title]),
    [
      ['approval', 'chats.create', 'allowed'],
      ['approval', 'chats.create', 'denied'],
    ],
  )
  const [first, second] = run.pending_actions
  const path = `/chats/${chat}/runs/${run.id}`
  const unknown = await alice.post(`${path}/actions`, { actions: [{ id: 'x', decision: 'allow' }] })
  assert.deepEqual([unknown.status, unknown.body.error.param], [404, 'actions.0.id'])
  const titles = async () => (await alice.get('/chats')).body.data.map(({ title }: { title: string }) => title)
  assert.ok(!(await titles()).includes('allowed'))

  const reading = allEvents(alice, `${path}/events`)
  const one = await beyond.post(`${path}/actions`, { actions: [{ id: first.id, decision: 'allow' }] })
  assert.deepEqual(
    [one.status, one.body.data.status, one.body.data.pending_actions.length],
    [200, 'requires_action', 1],
  )
  const both = await beyond.post(`${path}/actions`, { actions: [{ id: second.id, decision: 'deny' }] })
  assert.equal(both.status, 200, both.text)
  const events = await reading
  assert.deepEqual([types(events).at(-1), types(events).includes('run.requires_action')], ['run.completed', true])
  const { message } = events.at(-3)!.data
  assert.equal(message.text, 'May I? thanks')
  assert.deepEqual(
    results(message)
      .map(({ is_error }) => is_error)
      .toSorted(),
    [false, true],
  )
  assert.ok((await titles()).includes('allowed') && !(await titles()).includes('denied'))
  assert.equal((await alice.post(`${path}/actions`, { actions: [{ id: first.id, decision: 'allow' }] })).status, 409)
  assert.equal((await alice.get(path)).body.data.cost_usd, message.cost_usd)

  const again = (await send(chat, script([call('chats_create', { title: 'never' })], [say('x')]))).body.data.run
  assert.equal(again.status, 'requires_action')
  assert.equal((await beyond.post(`/chats/${chat}/stop`)).body.data.status, 'cancelled')
  const runWithOutput = (await send(chat, script([call('chats_create', { title: 'never' })], [say('x')]))).body.data.run
  await alice.post(`/chats/${chat}/runs/${runWithOutput.id}/actions`, {
    actions: [{ id: runWithOutput.pending_actions[0].id, decision: 'allow', output: { id: 'made up' } }],
  })
  const replay = await allEvents(alice, `/chats/${chat}/runs/${runWithOutput.id}/events`)
  assert.deepEqual(replay.find(({ event }) => event === 'tool_result')!.data.output, { id: 'made up' })
  assert.ok(!(await titles()).includes('never'))
})

test('an undecided call is denied in time, and the run continues', async () => {
  const chat = await chatWith([{ name: 'chats.create', policy: 'ask' }])
  const answer = await send(chat, script([call('chats_create', { title: 'too late' })], [say('then not')]))
  const { run } = answer.body.data
  const [action] = run.pending_actions
  const days = (Date.parse(action.expires_at) - Date.now()) / 86_400_000
  assert.ok(days > 6.9 && days <= 7, action.expires_at)
  // Simulates that a week has passed.
  await server.app.engine.postgres.pool.query(
    `update runs set actions_expire_at = now(), pending_actions = jsonb_set(pending_actions, '{0,expires_at}', $2) where id = $1`,
    [run.id, '"2026-01-01T00:00:00.000Z"'],
  )
  const events = await allEvents(beyond, `/chats/${chat}/runs/${run.id}/events`)
  const { message } = events.at(-3)!.data
  assert.deepEqual([message.text, results(message)[0]!.is_error], ['then not', true])
  assert.match(results(message)[0]!.output.error.message, /No one approved/)
  const titles = (await alice.get('/chats')).body.data.map(({ title }: { title: string }) => title)
  assert.ok(!titles.includes('too late'))
})
