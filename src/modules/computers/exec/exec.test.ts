import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { allEvents, readEvents } from '#test/events.ts'
import { proxyTo } from '#test/link/proxy.ts'
import { daemonHome, continueDaemon, runDaemonAt } from '#test/link/run-daemon.ts'
import { machineOf, peopleAround, serverWithAlice } from '#test/computers/world.ts'
import { pairedComputer } from '#test/makers.ts'
import { type Caller } from '#test/server.ts'
import { PATIENCE_MS, until } from '#test/until.ts'

const { server, alice } = await serverWithAlice()
const { bob, carol, team } = await peopleAround(server, alice)
const { id, home } = await machineOf(server, alice)

const code = ({ status, body }: { status: number; body: { error?: { code?: string } } }) => [status, body.error?.code]
const exec = async (body: object, caller: Caller = alice, at = id) =>
  (await caller.post(`/computers/${at}/exec`, body)).body.data
const sse = { headers: { accept: 'text/event-stream' } }
const expose = (capabilities: string[]) =>
  alice.post(`/computers/${id}/exposures`, { workspace_id: team, capabilities })
/** Writes its PID and keeps running, with a child. */
const lasting = (file: string) => `echo $$ > ${file}; sleep 100 & echo going; wait`
async function pidIn(file: string): Promise<number> {
  await until(async () => existsSync(file) && readFileSync(file, 'utf8').trim() !== '', Boolean)
  return Number(readFileSync(file, 'utf8'))
}
const lives = (pid: number): boolean => existsSync(`/proc/${pid}`)
const waitForExit = (pid: number) =>
  until(
    async () => lives(pid),
    (alive) => !alive,
  )

test('a command returns its exit code and the output of each channel', async () => {
  const ran = await exec({
    command: 'read line; echo "$line $GREETING"; pwd; echo oops >&2; exit 3',
    stdin: 'hello\n',
    env: { GREETING: 'world' },
    cwd: '/tmp',
  })
  assert.deepEqual(
    [ran.stdout, ran.stderr, ran.exit_code, ran.signal, ran.timed_out, ran.truncated],
    ['hello world\n/tmp\n', 'oops\n', 3, null, false, false],
  )
  assert.equal((await exec({ argv: ['printf', '%s|', 'a b', '$HOME'] })).stdout, 'a b|$HOME|')
  const bytes = await exec({ command: 'printf "\\377\\000ok"', encoding: 'base64' })
  assert.deepEqual(
    [bytes.stdout, bytes.stdout_base64],
    ['\uFFFD\0ok', Buffer.from('\xff\0ok', 'latin1').toString('base64')],
  )
  const { data: probe } = (await alice.post(`/computers/${id}/test-connection`)).body
  assert.deepEqual([probe.connection, Math.abs(probe.clock_difference_ms) < 5_000], ['online', true])
})

test('an open stdin delivers bytes as they arrive, once, until it is closed', async () => {
  const response = await alice.post(`/computers/${id}/exec`, {
    command: 'cat',
    stdin: 'one ',
    stdin_open: true,
    background: true,
  })
  assert.equal(response.status, 202, response.text)
  const operation = response.body.data.id
  const content = async () => (await alice.get(`/operations/${operation}/content`)).text
  await until(content, (text) => text === 'one ')
  const write = (body: object, who: Caller = alice) => who.post(`/computers/${id}/exec/${operation}/stdin`, body)
  const two = await write({ offset: 4, data: 'two ' })
  assert.deepEqual(two.body.data, { exec_id: operation, offset: 8, running: true }, two.text)
  // Repeats known bytes, then adds more.
  assert.equal((await write({ offset: 4, data: 'two three' })).body.data.offset, 13)
  await until(content, (text) => text === 'one two three')
  const gap = await write({ offset: 99, data: 'x' })
  assert.deepEqual([gap.status, gap.body.error.code, gap.body.error.details], [409, 'stale_update', { offset: 13 }])
  assert.equal((await write({ offset: 13, data: 'x' }, carol)).status, 404)
  // Bob may run commands here but didn't start this one; a key limited to another workspace can't write either.
  await expose(['exec'])
  assert.equal((await exec({ command: 'echo bob' }, bob)).stdout, 'bob\n')
  for (const who of [bob, await alice.key({ workspace_id: team })]) {
    const refusal = await write({ offset: 13, data: 'rm -rf /\n', end: true }, who)
    assert.deepEqual([refusal.status, refusal.body.error.param], [404, 'exec_id'], refusal.text)
  }
  assert.equal((await write({ offset: 13, end: true })).status, 200)
  await until(
    async () => (await alice.get(`/operations/${operation}`)).body.data,
    ({ status }) => status === 'succeeded',
  )
  assert.equal((await write({ offset: 13, data: 'late' })).body.data.running, false)
  const closed = await alice.post(`/computers/${id}/exec`, { command: 'sleep 60', background: true })
  const refusal = await until(
    () => alice.post(`/computers/${id}/exec/${closed.body.data.id}/stdin`, { offset: 0, data: 'x' }),
    ({ status }) => status !== 404,
  )
  assert.deepEqual([refusal.status, refusal.body.error.code], [409, 'invalid_state'])
  await alice.post(`/operations/${closed.body.data.id}/cancel`)
})

test('a command that exceeds its timeout is killed with its children and reports it', async () => {
  const file = join(home.folder, 'late')
  const ran = await exec({ command: lasting(file), timeout_ms: 4_000 })
  assert.deepEqual([ran.exit_code, ran.timed_out, ran.stdout], [null, true, 'going\n'])
  assert.match(ran.signal, /^SIG/)
  await waitForExit(await pidIn(file))
})

test('up to 8 MiB per channel are returned, or the start and end of a smaller limit', async () => {
  const much = await exec({ command: 'head -c 9000000 /dev/zero | tr "\\0" x' })
  assert.deepEqual([much.stdout.length, much.truncated, much.exit_code], [8_388_608, true, 0])
  const { stdout, truncated } = await exec({ command: 'seq 100000', max_output_bytes: 2_048 })
  assert.ok(truncated)
  assert.match(stdout, /^1\n2\n/)
  assert.match(stdout, /\n99999\n100000\n$/)
  assert.match(stdout, /\n\[\d+ bytes were left out here\]\n/)
  assert.ok(stdout.length < 2_200)
})

test('output is streamed as it arrives, in whole characters', async () => {
  const command = 'printf "\\303"; sleep 0.3; printf "\\244b"; echo x >&2; exit 7'
  const events = await allEvents(alice, `/computers/${id}/exec`, { body: { command }, ...sse })
  assert.deepEqual(
    events.map(({ event }) => event),
    ['exec.started', 'stdout', 'stderr', 'exec.completed'],
  )
  assert.deepEqual(events[1]!.data, { data: 'äb', offset: 0 })
  const { exit_code, stdout_bytes, truncated } = events[3]!.data
  assert.deepEqual([exit_code, stdout_bytes, truncated], [7, 3, false])
})

test('disconnecting ends the command and its children, streamed or not', async () => {
  const streamed = join(home.folder, 'streamed')
  const events = readEvents(alice, `/computers/${id}/exec`, { body: { command: lasting(streamed) }, ...sse })
  assert.equal((await events.next()).value?.event, 'exec.started')
  const first = await pidIn(streamed)
  await events.return()
  await waitForExit(first)

  const waitingFile = join(home.folder, 'waiting')
  const leave = new AbortController()
  const response = fetch(`${server.origin}/v1/computers/${id}/exec`, {
    method: 'POST',
    headers: { ...alice.headers, 'content-type': 'application/json' },
    body: JSON.stringify({ command: lasting(waitingFile), timeout_ms: null }),
    signal: leave.signal,
  }).catch(() => {})
  const second = await pidIn(waitingFile)
  leave.abort()
  await response
  await waitForExit(second)
})

test('a background command runs on, exposes its output so far, and ends when canceled', async () => {
  const go = join(home.folder, 'go')
  const response = await alice.post(`/computers/${id}/exec`, {
    command: `echo one; while [ ! -e ${go} ]; do sleep 0.1; done; echo two; exit 4`,
    background: true,
  })
  assert.equal(response.status, 202, response.text)
  const at = `/operations/${response.body.data.id}`
  await until(
    () => alice.get(`${at}/content`),
    ({ text }) => text === 'one\n',
  )
  assert.equal((await alice.get(at)).body.data.status, 'running')
  await exec({ command: `touch ${go}` })
  const { body } = await until(
    () => alice.get(at),
    ({ body: { data } }) => data.completed_at !== null,
  )
  const { status, kind, resource, result } = body.data
  assert.deepEqual([status, kind, resource], ['succeeded', 'computers.exec', { type: 'computer', id }])
  assert.deepEqual([result.exit_code, result.stdout], [4, 'one\ntwo\n'])
  assert.equal((await alice.get(`${at}/content`)).text, 'one\ntwo\n')

  const file = join(home.folder, 'cancelled')
  const second = await alice.post(`/computers/${id}/exec`, { command: lasting(file), background: true })
  const pid = await pidIn(file)
  await alice.post(`/operations/${second.body.data.id}/cancel`)
  await waitForExit(pid)
  const operation = await until(
    () => alice.get(`/operations/${second.body.data.id}`),
    ({ body: { data } }) => data.completed_at !== null,
  )
  assert.equal(operation.body.data.status, 'cancelled')
})

test('a background command can be followed live and continues without followers', async () => {
  const go = join(home.folder, 'followed')
  const command = `echo one; echo oops >&2; while [ ! -e ${go} ]; do sleep 0.1; done; echo two; exit 5`
  const events = readEvents(alice, `/computers/${id}/exec`, { body: { command, background: true }, ...sse })
  const startedEvent = (await events.next()).value!
  assert.equal(startedEvent.event, 'exec.started')
  const outputEvents = [(await events.next()).value, (await events.next()).value].map((event) => [
    event?.event,
    event?.data.data,
  ])
  assert.deepEqual(
    new Map(outputEvents as [string, string][]),
    new Map([
      ['stdout', 'one\n'],
      ['stderr', 'oops\n'],
    ]),
  )
  await events.return()
  const at = `/operations/${startedEvent.data.id}`
  assert.equal((await alice.get(at)).body.data.status, 'running')
  await exec({ command: `touch ${go}` })
  const { body } = await until(
    () => alice.get(at),
    ({ body: { data } }) => data.completed_at !== null,
  )
  const { status, result } = body.data
  assert.deepEqual([status, result.exit_code, result.stdout], ['succeeded', 5, 'one\ntwo\n'])

  const all = await allEvents(alice, `/computers/${id}/exec`, {
    body: { command: 'echo a; exit 3', background: true },
    ...sse,
  })
  assert.deepEqual(
    all.map(({ event }) => event),
    ['exec.started', 'stdout', 'exec.completed'],
  )
  assert.deepEqual([all[2]!.data.exit_code, all[2]!.data.truncated, all[2]!.data.id], [3, false, all[0]!.data.id])
})

test('a command survives network cuts and a daemon restart without lost or repeated output', async () => {
  await using proxy = await proxyTo(server.origin)
  await using own = daemonHome()
  const pairing = await pairedComputer(alice)
  const first = await runDaemonAt(own, proxy.origin, pairing)
  assert.ok(await server.app.engine.links.online(pairing.id, PATIENCE_MS))
  const counter = join(own.folder, 'count')
  const over = join(own.folder, 'over')
  const counts = `i=0; while [ $i -lt 60 ]; do i=$((i+1)); echo $i; echo $i > ${counter}; sleep 0.05; done`
  const result = exec(
    { command: `${counts}; while [ ! -e ${over} ]; do sleep 0.05; done; wc -c`, stdin: 'x'.repeat(100_000) },
    alice,
    pairing.id,
  )
  const reaches = (count: number) =>
    until(
      async () => (existsSync(counter) ? Number(readFileSync(counter, 'utf8')) : 0),
      (now) => now >= count,
    )
  await reaches(10)
  proxy.cut()
  await reaches(25)
  await first[Symbol.asyncDispose]()
  await using _second = continueDaemon(own)
  writeFileSync(over, '')
  const { stdout, exit_code, truncated } = await result
  assert.equal(stdout, `${Array.from({ length: 60 }, (_, i) => i + 1).join('\n')}\n100000\n`)
  assert.deepEqual([exit_code, truncated], [0, false])
})

test('members can run commands; withdrawing the capability ends them with the reason', async () => {
  await expose(['exec'])
  assert.equal((await exec({ command: 'echo hi' }, bob)).stdout, 'hi\n')
  assert.deepEqual(code(await bob.post(`/computers/${id}/terminal`, { action: 'list' })), [403, 'capability_denied'])

  const live = join(home.folder, 'live')
  const events = readEvents(bob, `/computers/${id}/exec`, {
    body: { command: lasting(live), timeout_ms: null },
    ...sse,
  })
  assert.equal((await events.next()).value?.event, 'exec.started')
  const behind = join(home.folder, 'behind')
  const operation = await bob.post(`/computers/${id}/exec`, { command: lasting(behind), background: true })
  const waitedFile = join(home.folder, 'waited')
  const response = bob.post(`/computers/${id}/exec`, { command: lasting(waitedFile), timeout_ms: null })
  const pids = [await pidIn(live), await pidIn(behind), await pidIn(waitedFile)]
  await alice.patch(`/computers/${id}/exposures/${team}`, { capabilities: ['fs_read'] })
  for await (const _ of events);
  await Promise.all(pids.map(waitForExit))
  assert.deepEqual(code(await response), [403, 'capability_denied'])
  const { body } = await until(
    () => bob.get(`/operations/${operation.body.data.id}`),
    ({ body: { data } }) => data.completed_at !== null,
  )
  assert.deepEqual([body.data.status, body.data.error.code], ['failed', 'capability_denied'])
  await alice.delete(`/computers/${id}/exposures/${team}`)
})

test('an automation runs a command with the webhook body as stdin; a nonzero exit code fails the run', async () => {
  const make = async (command: string) =>
    (
      await alice.post('/automations', {
        name: 'Command',
        kind: 'webhook',
        action: { type: 'command', computer_id: id, command },
      })
    ).body.data
  const run = async (automation: { id: string }) =>
    (
      await until(
        () => alice.get(`/automations/${automation.id}/runs`),
        ({ body }) => body.data[0]?.completed_at != null,
      )
    ).body.data[0]
  const good = await make('cat; echo "$UK_AUTOMATION_RUN_ID"')
  const fired = await server.stranger.post(`/automations/${good.id}/fire`, 'the body', {
    authorization: `Bearer ${good.token}`,
  })
  assert.equal(fired.status, 202, fired.text)
  const well = await run(good)
  assert.equal(well.status, 'succeeded')
  assert.equal((await alice.get(`/operations/${well.operation_id}/content`)).text, `the body${well.id}\n`)

  const bad = await make('exit 3')
  await alice.post(`/automations/${bad.id}/test-fire`)
  const failed = await run(bad)
  assert.deepEqual([failed.status, failed.error.code, failed.error.details.exit_code], ['failed', 'command_failed', 3])

  const long = await make(lasting(join(home.folder, 'automated')))
  await alice.post(`/automations/${long.id}/test-fire`)
  const pid = await pidIn(join(home.folder, 'automated'))
  const { body } = await alice.get(`/automations/${long.id}/runs`)
  await alice.post(`/automations/${long.id}/runs/${body.data[0].id}/cancel`)
  await waitForExit(pid)
  assert.equal((await run(long)).status, 'cancelled')
})

test('a rotated credential reaches the machine over its link', async () => {
  const before = JSON.parse(readFileSync(join(home.folder, 'computer.json'), 'utf8')).credential
  const rotated = await alice.post(`/computers/${id}/rotate-credential`, { overlap_seconds: 0 })
  assert.equal(rotated.status, 200, rotated.text)
  assert.equal(rotated.text.includes('ukm_'), false)
  const now = JSON.parse(readFileSync(join(home.folder, 'computer.json'), 'utf8')).credential
  assert.notEqual(now, before)
  await until(
    async () => (await alice.post(`/computers/${id}/exec`, { command: 'echo back' })).body.data?.stdout,
    (stdout) => stdout === 'back\n',
  )
})
