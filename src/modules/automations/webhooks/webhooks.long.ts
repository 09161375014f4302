import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { test } from 'node:test'
import { deliver, deliverUntilTaken, makeHook, signUp, startServer } from '#test/automations/senders.ts'
import { temporaryDir } from '#test/program.ts'
import { caller, testServer } from '#test/server.ts'
import { rotateUnderTraffic } from '#test/automations/rotation.ts'

const DUPLICATES = 1_000
const OTHERS = 100

test('repeated deliveries of 101 webhooks start one run each while the server is killed and restarted', async (t) => {
  using dir = temporaryDir()
  const environment = { UK_DATA_DIR: dir.path }
  let server = await startServer(environment)
  const { key } = await signUp(server.origin)
  const as = () => caller(server.origin, { authorization: `Bearer ${key}` })
  const hook = await makeHook(as())
  let responseCount = 0
  const names = [
    ...Array.from({ length: DUPLICATES }, () => 'msg_the_one'),
    ...Array.from({ length: OTHERS * 10 }, (_, i) => `msg_${i % OTHERS}`),
  ]
  const deliveries = names.map(async (name) => {
    const answer = await deliverUntilTaken(() => server.origin, hook, name)
    responseCount += 1
    return { name, ...answer }
  })
  let kills = 0
  for (const share of [0.15, 0.5]) {
    while (responseCount < names.length * share) await sleep(2)
    server.child.kill('SIGKILL')
    await server.exited
    kills += 1
    server = await startServer(environment)
  }
  const answers = await Promise.all(deliveries)
  const byName = Map.groupBy(answers, ({ name }) => name)
  for (const [name, of] of byName) {
    assert.ok(
      of.every(({ status }) => status === 200 || status === 202),
      `${name}: ${[...new Set(of.map(({ status }) => status))].join()}`,
    )
    assert.equal(new Set(of.map(({ body }) => body.data.id)).size, 1, `${name} is one run`)
    assert.ok(of.filter(({ status }) => status === 202).length <= 1, `${name} was new once`)
  }
  const rows: { id: string; status: string }[] = []
  for (let i = 0; i < 300; i++) {
    rows.length = 0
    for (let cursor: string | null = null; ;) {
      const page = await as().get(`/automations/${hook.id}/runs?limit=100${cursor ? `&cursor=${cursor}` : ''}`)
      rows.push(...page.body.data)
      if ((cursor = page.body.pagination.next_cursor) === null) break
    }
    if (rows.every(({ status }) => status !== 'queued' && status !== 'running')) break
    await sleep(100)
  }
  const over: Record<string, number> = {}
  for (const { status } of rows) over[status] = (over[status] ?? 0) + 1
  t.diagnostic(
    JSON.stringify({
      deliveries: names.length,
      kills,
      again: answers.filter(({ tries }) => tries > 1).length,
      runs: rows.length,
      over,
    }),
  )
  assert.equal(rows.length, OTHERS + 1)
  assert.equal((over.queued ?? 0) + (over.running ?? 0), 0, 'every run has ended')
  assert.equal((await deliver(server.origin, hook, 'msg_the_one')).status, 200)
  await server[Symbol.asyncDispose]()
})

test('valid deliveries to two processes are accepted while the webhook secret rotates four times a second', async (t) => {
  await using server = await testServer({ environment: { UK_LIMIT_INFERENCE: '0', UK_LIMIT_WRITES: '0' } })
  await using twin = await server.twin()
  const traffic = await rotateUnderTraffic([server, twin], { seconds: 30, everyMs: 250, overlapSeconds: 3 })
  t.diagnostic(JSON.stringify(traffic))
  assert.ok(traffic.rotations > 10 && traffic.deliveries > 50)
})
