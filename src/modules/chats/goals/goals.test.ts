import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { script } from '#test/chats/chats.ts'
import { allEvents, readEvents } from '#test/events.ts'
import type { Caller } from '#test/server.ts'
import { twoServers } from '#test/two-servers.ts'
import { until } from '#test/until.ts'
import { verdictOf } from './judge.ts'

const { server, alice, beyond, settled } = await twoServers()

const createChat = async (model = 'sim/script'): Promise<string> => (await alice.post('/chats', { model })).body.data.id
const verdict = (given: object): string => script({ text: JSON.stringify(given) })
/** A script for the judge, which plays the last script it reads. */
const judgedBy = (given: object): string => script({ text: verdict(given) })
async function over(chat: string, who: Caller = alice) {
  for (;;) {
    const goal = (await who.get(`/chats/${chat}/goal`)).body.data
    if (goal.status !== 'active') return goal
    await sleep(30)
  }
}
async function turning(chat: string) {
  for (;;) {
    const goal = (await alice.get(`/chats/${chat}/goal`)).body.data
    if (goal.run_id !== null) return goal
    await sleep(10)
  }
}

test('a goal continues until the judge is satisfied, with one run per turn and a separate cost per verdict', async () => {
  const chat = await createChat()
  const second = judgedBy({ achieved: true, feedback: 'All is there.' })
  const objective = judgedBy({ achieved: false, progress: true, feedback: second })
  const started = await alice.post(`/chats/${chat}/goal`, { objective, max_cost_usd: 1 })
  assert.equal(started.status, 201, started.text)
  assert.deepEqual([started.body.data.status, started.body.data.turns_used], ['active', 0])
  const goal = await over(chat, beyond)
  assert.deepEqual(
    [goal.status, goal.turns_used, goal.last_feedback, goal.error],
    ['achieved', 2, 'All is there.', null],
  )

  const runs = (await alice.get(`/chats/${chat}/runs`)).body.data.toReversed()
  assert.deepEqual(
    runs.map((run: { status: string; goal_id: string }) => [run.status, run.goal_id]),
    [
      ['completed', goal.id],
      ['completed', goal.id],
    ],
  )
  assert.equal((await allEvents(alice, `/chats/${chat}/runs/${runs[1].id}/events`)).at(-1)!.event, 'run.completed')
  await settled()
  const { rows } = await server.app.engine.postgres.pool.query(
    `select surface, count(*)::int as calls, sum(cost_nano)::int8 as nano from calls where chat_id = $1 group by surface order by surface`,
    [chat],
  )
  assert.deepEqual(
    rows.map(({ surface, calls }) => [surface, calls]),
    [
      ['chat', 2],
      ['judge', 2],
    ],
  )
  const all = Number(rows[0].nano + rows[1].nano) / 1e9
  assert.ok(all > 0)
  assert.equal(goal.spent_usd, all)
  assert.equal((await alice.get(`/chats/${chat}/cost`)).body.data.cost_usd, all)
})

test('a goal stalls after three turns without progress, and is exhausted at its turn limit', async () => {
  const idle = await createChat('sim/echo')
  await alice.post(`/chats/${idle}/goal`, { objective: 'Find the end of pi.' })
  const stalled = await over(idle)
  assert.deepEqual([stalled.status, stalled.turns_used, stalled.exhausted_by], ['stalled', 3, null])

  const chat = await createChat('sim/echo')
  await alice.post(`/chats/${chat}/goal`, { objective: 'Find the end of pi.', max_turns: 1 })
  const exhausted = await over(chat)
  assert.deepEqual([exhausted.status, exhausted.turns_used, exhausted.exhausted_by], ['exhausted', 1, 'turns'])

  for (const [body, param] of [
    [{ max_turns: 1 }, 'max_turns'],
    [{}, 'max_turns'],
    [{ max_cost_usd: 5 }, 'max_turns'],
  ] as const) {
    const refused = await alice.post(`/chats/${chat}/goal/resume`, body)
    assert.deepEqual([refused.status, refused.body.error.param], [400, param], JSON.stringify(body))
  }
  const resumed = await alice.post(`/chats/${chat}/goal/resume`, { max_turns: 2 })
  assert.deepEqual([resumed.status, resumed.body.data.status, resumed.body.data.id], [200, 'active', exhausted.id])
  const again = await over(chat)
  assert.deepEqual([again.status, again.turns_used, again.exhausted_by], ['exhausted', 2, 'turns'])
})

test('a goal stops at its cost or time limit', async () => {
  const poor = await createChat()
  await alice.post(`/chats/${poor}/goal`, { objective: judgedBy({ achieved: false }), max_cost_usd: 0.000001 })
  const broke = await over(poor)
  assert.deepEqual([broke.status, broke.exhausted_by, broke.spent_usd], ['exhausted', 'cost', 0])
  // The turn that failed for lack of credits doesn't count after the cap is raised.
  assert.equal((await alice.post(`/chats/${poor}/goal/resume`, { max_cost_usd: 1, max_turns: 26 })).status, 200)
  const rich = await over(poor)
  assert.ok(rich.turns_used > 1 && rich.spent_usd > 0, JSON.stringify(rich))

  const slow = await createChat()
  const objective = script({ text: 'so far' }, { delay_ms: 60_000 })
  await alice.post(`/chats/${slow}/goal`, { objective, max_duration_seconds: 4 })
  const exhaustedGoal = await over(slow)
  assert.deepEqual(
    [exhaustedGoal.status, exhaustedGoal.exhausted_by, exhaustedGoal.turns_used],
    ['exhausted', 'time', 1],
  )
  const events = await allEvents(alice, `/chats/${slow}/runs/${exhaustedGoal.run_id}/events`)
  assert.equal(events.at(-1)!.event, 'run.cancelled')
  // Nor does a turn stopped by the time limit.
  const used = Math.ceil((Date.parse(exhaustedGoal.completed_at) - Date.parse(exhaustedGoal.created_at)) / 1000)
  const more = { max_duration_seconds: used + 4 }
  assert.equal((await alice.post(`/chats/${slow}/goal/resume`, more)).status, 200)
  const later = await over(slow)
  assert.deepEqual([later.status, later.exhausted_by, later.turns_used], ['exhausted', 'time', 2])
})

test('stopping its run or ending it ends a goal, and without a goal both fail', async () => {
  const chat = await createChat()
  for (const request of [
    alice.get(`/chats/${chat}/goal`),
    alice.delete(`/chats/${chat}/goal`),
    alice.post(`/chats/${chat}/goal/resume`, { max_turns: 9 }),
  ])
    assert.equal((await request).status, 404)
  for (const field of ['objective', 'criteria']) {
    const empty = await alice.post(`/chats/${chat}/goal`, { objective: 'x', [field]: ' \n' })
    assert.deepEqual([empty.status, empty.body.error?.param], [400, field], empty.text)
  }
  const objective = script({ text: 'on it' }, { delay_ms: 60_000 })
  await alice.post(`/chats/${chat}/goal`, { objective })
  const twice = await alice.post(`/chats/${chat}/goal`, { objective })
  assert.deepEqual([twice.status, twice.body.error.code], [409, 'invalid_state'])
  await turning(chat)
  const stopped = await beyond.post(`/chats/${chat}/stop`)
  assert.deepEqual([stopped.status, stopped.body.data.status], [200, 'cancelled'])
  assert.equal((await alice.get(`/chats/${chat}/goal`)).body.data.status, 'ended')

  await alice.post(`/chats/${chat}/goal`, { objective })
  const { run_id } = await turning(chat)
  const response = await beyond.delete(`/chats/${chat}/goal`)
  assert.deepEqual([response.status, response.body], [200, { deleted: true, id: response.body.id }])
  // The stopped turn's cost may still be in flight.
  const [governing, appGoal] = await until(
    async () =>
      Promise.all([`/chats/${chat}/goal`, `/app/chat-goals/${chat}`].map(async (p) => (await alice.get(p)).body.data)),
    ([goal, shown]) => isDeepStrictEqual(goal, shown.goal),
  )
  assert.deepEqual([response.body.id, chat], [governing.id, appGoal.id])
  assert.deepEqual((await alice.delete(`/chats/${chat}/goal`)).body, { deleted: true, id: response.body.id }, 'again')
  assert.equal((await alice.get(`/chats/${chat}/goal`)).body.data.status, 'ended')
  const events = await allEvents(alice, `/chats/${chat}/runs/${run_id}/events`)
  assert.equal(events.at(-1)!.event, 'run.cancelled')
  assert.equal((await alice.get(`/chats/${chat}/runs`)).body.data.length, 2)
  assert.equal((await alice.post(`/chats/${chat}/goal/resume`, { max_turns: 99 })).status, 409)

  const other = await alice.patch(`/chats/${chat}`, {
    head_message_id: (await alice.post(`/chats/${chat}/messages`, { content: script({ text: 'x' }), parent_id: null }))
      .body.data.id,
  })
  assert.equal(other.status, 200)
  assert.equal((await alice.get(`/chats/${chat}/goal`)).status, 404)
  assert.equal((await alice.get(`/app/chat-goals/${chat}`)).body.data.goal, null)
  const stranger = await server.person('Nobody of the house')
  assert.equal((await stranger.get(`/app/chat-goals/${chat}`)).status, 404)
})

test('subscribers see each turn, each verdict and the end of a goal', async () => {
  const chat = await createChat()
  const following = readEvents(alice, `/realtime/subscribe?channels=chat:${chat}`)
  await following.next()
  const second = judgedBy({ achieved: true, feedback: 'All is there.' })
  await beyond.post(`/chats/${chat}/goal`, {
    objective: judgedBy({ achieved: false, progress: true, feedback: second }),
  })
  const goalEvents: [string, number, boolean][] = []
  while (goalEvents.at(-1)?.[0] !== 'goal.achieved') {
    const { data } = (await following.next()).value!
    if (data.resource.type === 'goal') goalEvents.push([data.type, data.data.turns_used, data.data.run_id !== null])
  }
  await following.return()
  assert.deepEqual(goalEvents, [
    ['goal.started', 0, false],
    ['goal.progressed', 1, true],
    ['goal.progressed', 1, false],
    ['goal.progressed', 2, true],
    ['goal.achieved', 2, true],
  ])
})

/** Creates a team chat whose goal is in its first turn and would take more. */
async function pursued(who: Caller, workspace_id: string): Promise<string> {
  const chat = (await who.post('/chats', { model: 'sim/script', workspace_id })).body.data.id
  // Delays the first turn's end until the workspace has changed. The judge never says achieved.
  const objective = script({ text: 'so far' }, { delay_ms: 6_000 }, { text: verdict({ achieved: false }) })
  assert.equal((await who.post(`/chats/${chat}/goal`, { objective })).status, 201)
  await until(
    async () => (await who.get(`/chats/${chat}/goal`)).body.data,
    ({ run_id }) => run_id !== null,
  )
  return chat
}

test('no turn starts in an archived workspace or for a former member', async () => {
  const { id: team } = (await alice.post('/workspaces', { name: 'Closing' })).body.data
  const bob = await server.person('Bob')
  await alice.post(`/admin/accounts/${bob.id}/credits`, { amount_usd: 1 })
  const { token } = (await alice.post(`/workspaces/${team}/invitations`, { email: bob.email })).body.data
  const { member } = (await bob.post('/invitations/accept', { token })).body.data
  const [hers, his] = [await pursued(alice, team), await pursued(bob, team)]
  await alice.delete(`/workspaces/${team}/members/${member.id}`)
  await alice.post(`/workspaces/${team}/archive`)
  const endedGoal = await over(his)
  assert.deepEqual([endedGoal.status, endedGoal.error.code, endedGoal.turns_used], ['failed', 'insufficient_role', 1])
  const closed = await over(hers)
  assert.deepEqual([closed.status, closed.error.code, closed.turns_used], ['failed', 'invalid_state', 1])
  for (const chat of [hers, his]) assert.equal((await alice.get(`/chats/${chat}/messages`)).body.data.length, 2)
})

test('a chat with a goal can’t be archived, even between turns, and trashing it ends the goal', async () => {
  const chat = await createChat()
  // Turns end at once, but the judge takes a minute.
  const objective = script({ text: script({ delay_ms: 60_000 }) })
  await alice.post(`/chats/${chat}/goal`, { objective })
  const { run_id } = await turning(chat)
  await allEvents(alice, `/chats/${chat}/runs/${run_id}/events`)
  const refused = await beyond.post(`/chats/${chat}/archive`)
  assert.deepEqual([refused.status, refused.body.error?.code], [409, 'chat_busy'], refused.text)
  assert.equal((await alice.delete(`/chats/${chat}`)).status, 200)
  assert.equal((await alice.get(`/chats/${chat}/goal`)).body.data.status, 'ended')
  assert.equal((await alice.post(`/chats/${chat}/restore`)).status, 200)
  assert.equal((await alice.post(`/chats/${chat}/archive`)).status, 200)
})

test('a judge’s answer without a verdict doesn’t count as one', () => {
  for (const text of ['', 'yes', '{"achieved": "yes"}', '{achieved: true}', '[true]', `{${'{'.repeat(100_000)}`]) {
    const { achieved, progress } = verdictOf(text)
    assert.deepEqual({ achieved, progress }, { achieved: false, progress: false })
  }
  assert.deepEqual(verdictOf('Well:\n```json\n{"achieved": true, "feedback": "done"}\n```'), {
    achieved: true,
    progress: true,
    feedback: 'done',
  })
})
