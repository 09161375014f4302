import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { allEvents } from '#test/events.ts'
import { peopleAround, serverWithAlice } from '#test/computers/world.ts'
import { linkUp } from '#test/link/daemon.ts'
import { pairedComputer } from '#test/makers.ts'
import { type Person } from '#test/server.ts'
import { until } from '#test/until.ts'
import { newId } from '#core/ids.ts'
import { CLOSE } from '#packages/mux/mux.ts'
import { comesWithin } from './offline.ts'

const { server, alice } = await serverWithAlice()
const { bob, carol, vera, team } = await peopleAround(server, alice)

const code = ({ status, body }: { status: number; body: { error?: { code?: string } } }) => [status, body.error?.code]

test('calls to an offline computer report when it was last seen', async () => {
  const { id } = await pairedComputer(alice)
  for (const [path, body] of [
    ['exec', { command: 'true' }],
    ['terminal', { action: 'list' }],
    ['terminal', { action: 'open' }],
    ['test-connection', {}],
    ['rotate-credential', {}],
  ] as const) {
    const answer = await alice.post(`/computers/${id}/${path}`, body)
    assert.deepEqual(code(answer), [409, 'computer_offline'], path)
    assert.deepEqual(answer.body.error.details, { last_seen_at: null })
  }
  const streamed = await alice.post(`/computers/${id}/exec`, { command: 'true' }, { accept: 'text/event-stream' })
  assert.deepEqual(code(streamed), [409, 'computer_offline'])
  // A rotation that didn't reach the machine leaves no credential behind.
  const { rows } = await server.app.engine.postgres.pool.query(
    'select count(*)::int as n from computer_credentials where computer_id = $1',
    [id],
  )
  assert.equal(rows[0].n, 1)
  const response = await alice.post(`/computers/${id}/exec`, { command: 'true', background: true })
  assert.equal(response.status, 202)
  const operation = await until(
    () => alice.get(`/operations/${response.body.data.id}`),
    ({ body }) => body.data.completed_at !== null,
  )
  assert.deepEqual([operation.body.data.status, operation.body.data.error.code], ['failed', 'computer_offline'])
  const [event, ...more] = await allEvents(alice, `/computers/${id}/exec`, {
    body: { command: 'true', background: true },
    headers: { accept: 'text/event-stream' },
  })
  assert.deepEqual([event?.event, event?.data.error.code, more], ['exec.failed', 'computer_offline', []])
  assert.equal((await alice.get(`/operations/${event!.data.id}`)).body.data.status, 'failed')
})

test('permission is checked before the computer’s connection', async () => {
  const { id } = await pairedComputer(alice, { allows: ['exec', 'terminal'] })
  const exec = (person: { post: Person['post'] }) => person.post(`/computers/${id}/exec`, { command: 'true' })
  assert.deepEqual(code(await exec(bob)), [404, undefined])
  await alice.post(`/computers/${id}/exposures`, { workspace_id: team, capabilities: ['terminal'] })
  assert.deepEqual(code(await exec(bob)), [403, 'capability_denied'])
  assert.deepEqual(code(await exec(vera)), [403, 'insufficient_role'])
  assert.deepEqual(code(await exec(carol)), [404, undefined])
  assert.deepEqual(code(await bob.post(`/computers/${id}/terminal`, { action: 'list' })), [409, 'computer_offline'])
  assert.deepEqual(code(await vera.post(`/computers/${id}/terminal`, { action: 'list' })), [403, 'insufficient_role'])
  await alice.patch(`/computers/${id}/exposures/${team}`, { capabilities: ['exec', 'terminal'] })
  assert.deepEqual(code(await exec(bob)), [409, 'computer_offline'])
  const weak = await bob.key({ scopes: ['computer:read', 'computer:write'] })
  assert.deepEqual(code(await exec(weak)), [403, 'missing_scope'])
  assert.deepEqual(code(await exec(await bob.key({ workspace_id: team }))), [409, 'computer_offline'])
  assert.deepEqual(code(await exec(await bob.key({ workspace_id: bob.workspaceId }))), [404, undefined])

  const { id: closed } = await pairedComputer(alice, { allows: ['fs_read'] })
  const answer = await alice.post(`/computers/${closed}/exec`, { command: 'true' })
  assert.deepEqual(code(answer), [403, 'capability_denied'])
  assert.match(answer.body.error.message, /--allow/)
})

test('invalid calls are refused with the wrong field', async () => {
  const { id } = await pairedComputer(alice)
  const refusalOf = async (path: string, body: object) => {
    const { body: responseBody } = await alice.post(`/computers/${id}/${path}`, body)
    return [responseBody.error.code, responseBody.error.param]
  }
  assert.deepEqual(await refusalOf('exec', {}), ['missing_parameter', 'command'])
  assert.deepEqual(await refusalOf('exec', { command: 'a', argv: ['a'] }), ['invalid_parameter', 'command'])
  assert.deepEqual(await refusalOf('exec', { argv: [] }), ['invalid_parameter', 'argv'])
  assert.deepEqual(await refusalOf('exec', { command: 'a', cwd: 'here' }), ['invalid_parameter', 'cwd'])
  assert.deepEqual(await refusalOf('exec', { command: 'a\0b' }), ['invalid_parameter', 'command'])
  assert.deepEqual(await refusalOf('exec', { command: 'a', timeout_ms: 0 }), ['invalid_parameter', 'timeout_ms'])
  assert.deepEqual(await refusalOf('exec', { command: 'a', env: { 'A=B': 'c' } }), ['invalid_parameter', 'env.A=B'])
  assert.deepEqual(await refusalOf('exec', { command: 'a', stdin: 'b', stdin_base64: 'Yg==' }), [
    'invalid_parameter',
    'stdin',
  ])
  assert.deepEqual(await refusalOf('terminal', { action: 'write', data: 'x' }), ['missing_parameter', 'terminal_id'])
  assert.deepEqual(await refusalOf('terminal', { action: 'list', data: 'x' }), ['unknown_parameter', 'data'])
  assert.deepEqual(await refusalOf('terminal', { action: 'open', cols: 0 }), ['invalid_parameter', 'cols'])
  assert.deepEqual(await refusalOf('terminal', { action: 'open', shell: 'sh', argv: ['sh'] }), [
    'invalid_parameter',
    'shell',
  ])
})

test('an automation can run commands only where its author can', async () => {
  const { id } = await pairedComputer(alice)
  const createAutomation = (person: Person, workspace_id: string) =>
    person.post('/automations', {
      workspace_id,
      name: 'Nightly',
      kind: 'webhook',
      action: { type: 'command', computer_id: id, command: 'true' },
    })
  const stranger = await createAutomation(bob, team)
  assert.deepEqual([stranger.status, stranger.body.error.param], [404, 'action.computer_id'])
  await alice.post(`/computers/${id}/exposures`, { workspace_id: team, capabilities: ['terminal'] })
  assert.deepEqual(code(await createAutomation(bob, team)), [403, 'capability_denied'])
  await alice.patch(`/computers/${id}/exposures/${team}`, { capabilities: ['exec'] })
  const { data: hook } = (await createAutomation(bob, team)).body
  const { data: run } = (await bob.post(`/automations/${hook.id}/test-fire`)).body
  const failedRun = await until(
    () => bob.get(`/automations/${hook.id}/runs`),
    ({ body }) => body.data[0].completed_at !== null,
  )
  const [last] = failedRun.body.data
  assert.deepEqual([last.id, last.status, last.error.code], [run.id, 'failed', 'computer_offline'])
})

const { db } = server.app.engine.postgres
const connection = async (id: string) => (await alice.get(`/computers/${id}`)).body.data.connection
const remove = (id: string) => alice.post(`/computers/${id}/fs`, { op: 'remove', path: '/x' })
const removes = () => Promise.resolve({ removed: 1 })
const lostAt = async (id: string) =>
  (await sql<{ lost_at: Date | null }>`select lost_at from computers where id = ${id}`.execute(db)).rows[0]!.lost_at

test('a call waits for a computer that just lost its link and runs once', async () => {
  const { id, credential } = await pairedComputer(alice)
  const first = await linkUp(server.origin, credential)
  first.mux.close(CLOSE.restart, 'the server is restarting')
  await until(
    () => lostAt(id),
    (at) => at !== null,
  )
  const call = remove(id)
  assert.deepEqual(code(await alice.post(`/computers/${id}/test-connection`)), [409, 'computer_offline'])
  let calls = 0
  using _second = await linkUp(server.origin, credential, ({ op }) => {
    if (op === 'fs.remove') calls++
    return removes()
  })
  const answer = await call
  assert.deepEqual([answer.status, calls], [200, 1], answer.text)
  assert.equal(await lostAt(id), null)
})

test('calls don’t wait for computers that signed off or were lost long ago', async () => {
  const { id, credential } = await pairedComputer(alice)
  const linked = await linkUp(server.origin, credential)
  linked.mux.close(1000, 'the daemon stops')
  await until(
    () => connection(id),
    (state) => state === 'offline',
  )
  assert.equal(await lostAt(id), null)
  assert.deepEqual(code(await remove(id)), [409, 'computer_offline'])
  const lostPlace = { lifecycle: 'running', lost_ms: 5_000 } as const
  assert.equal(comesWithin(lostPlace, 600_000), 15_000)
  assert.equal(comesWithin({ ...lostPlace, lost_ms: 30_000 }, 600_000), 0)
  // Lost while the server was down: expected back with it.
  assert.equal(comesWithin({ ...lostPlace, lost_ms: 600_000 }, 2_000), 18_000)
  assert.equal(comesWithin({ ...lostPlace, lost_ms: 86_400_000 }, 2_000), 0)
  assert.equal(comesWithin({ ...lostPlace, lost_ms: null }, 2_000), 0)
  assert.equal(comesWithin({ ...lostPlace, lifecycle: 'stopping' }, 2_000), 0)
  assert.equal(comesWithin({ lifecycle: 'starting', lost_ms: null }, 600_000), 20_000)
})

test('the row of a killed server doesn’t count as a link, and calls wait for the computer', async () => {
  const { id, credential } = await pairedComputer(alice)
  const dead = newId()
  await sql`insert into processes (id, expires_at, pid, peer) values (${dead}, now() - interval '1 second', 1, '127.0.0.1:9')`.execute(
    db,
  )
  await sql`update computers set link_process_id = ${dead}, last_seen_at = now() where id = ${id}`.execute(db)
  assert.equal(await connection(id), 'offline')
  const call = remove(id)
  using _linked = await linkUp(server.origin, credential, removes)
  assert.equal((await call).status, 200)
  assert.equal(await connection(id), 'online')
})
