import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { type Fate, type Write, cutTo } from '../../outside/cut.ts'
import { type TestDatabase, testDatabase } from '../../database.ts'
import { type SentEvent, allEvents, readEvents } from '../../events.ts'
import { startProgram, temporaryDir } from '../../program.ts'
import { type Caller, type TestServer, caller, testServer } from '../../server.ts'

/** Somebody with credits, an agent with a tool that may be repeated and one that may not, and a chat with it. */
export interface Scene extends AsyncDisposable {
  database: TestDatabase
  headers: Record<string, string>
  account: string
  chat: string
}

/** The outcome of a goal whose server was killed at a write. */
export interface Played {
  /** Null: the goal was over before the write came. */
  killedAt: Write | null
  /** The writes that went by before. */
  passed: Write[]
  /** The number of times that a person was asked whether a call that broke off may be taken as done. */
  asked: number
  runs: number
  seconds: number
}

const MADE = 'made by a tool'
const CREDITS_USD = 10
/** Contract, part 5: by then each run has ended, goes on, or waits with its reason. */
const RECOVERED_MS = 30_000

const say = (text: string) => ({ text })
const call = (name: string, given: object) => ({ tool_call: { name, arguments: given } })
const turns = (...of: object[][]): string => JSON.stringify({ turns: of })
const verdict = (given: object): string => turns([say(JSON.stringify(given))])
const second = turns([say(verdict({ achieved: true, feedback: 'All is there.' }))])
const OBJECTIVE = turns(
  [say('First I look. '), call('chats.list', { limit: 5 })],
  [say('Then I do it. '), call('chats.create', { title: MADE })],
  [say(verdict({ achieved: false, progress: true, feedback: second }))],
)

export async function prepareScene(): Promise<Scene> {
  const database = await testDatabase()
  await using server = await testServer({ database })
  const alice = await server.person('Alice')
  const bob = await server.person('Bob')
  await alice.post(`/admin/accounts/${bob.id}/credits`, { amount_usd: CREDITS_USD })
  const tools = ['chats.list', 'chats.create'].map((name) => ({ name, policy: 'allow' }))
  const agent = (await bob.post('/agents', { name: 'Worker', model: 'sim/script', tools })).body.data.id
  const chat = (await bob.post('/chats', { agent_id: agent })).body.data.id
  return {
    database,
    headers: bob.headers,
    account: bob.id,
    chat,
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  }
}

/**
 * Sets the agent a goal on a server that is killed at the write `fateOf` says, sees another server to the end of it, and
 * holds what is there then against what was promised. `beside`: the other server was there all the time.
 */
export async function playKilled(
  scene: Scene,
  fateOf: (write: Write) => Fate,
  { beside = false }: { beside?: boolean } = {},
): Promise<Played> {
  await using database = await testDatabase(scene.database)
  await using servers = new AsyncDisposableStack()
  const other = async (): Promise<TestServer> => servers.use(await testServer({ database }))
  const before = beside ? await other() : null
  await using cut = await cutTo(database.connection)
  using dir = temporaryDir()
  const program = startProgram({ UK_DATA_DIR: dir.path, DATABASE_URL: cut.url, UK_LOG: 'error' })
  const there = caller(await program.ready, scene.headers)
  const passed: Write[] = []
  let killedAt: Write | null = null
  cut.arm(
    (write) => {
      const fate = fateOf(write)
      if (fate === 'pass') passed.push(write)
      else killedAt = write
      return fate
    },
    () => program.child.kill('SIGKILL'),
  )
  const seen = new Map<string, SentEvent[]>()
  const answer = await there.post(`/chats/${scene.chat}/goal`, { objective: OBJECTIVE }).catch(() => null)
  await watch(there, scene.chat, seen).catch((error: unknown) => assert.ok(cut.isCut, String(error)))
  if (!cut.isCut) program.child.kill('SIGKILL')
  await program.exited
  const broken = await brokenCalls(database, program.child.pid!)

  const startedAt = performance.now()
  const server = before ?? (await other())
  const here = caller(server.origin, scene.headers)
  const asked = await seeThrough(here, scene.chat, answer !== null, startedAt + RECOVERED_MS)
  const seconds = (performance.now() - startedAt) / 1000
  await settled(server, scene)
  const runs = await checkLogs(here, scene.chat, seen)
  await checkBooks(server, scene)
  await checkTools(server, scene, broken, asked)
  return { killedAt, passed, asked: asked.length, runs, seconds }
}

/** The runs of a process that was within a call of what may not be done twice. */
async function brokenCalls({ connection }: TestDatabase, pid: number): Promise<string[]> {
  const client = new pg.Client(connection)
  await client.connect()
  try {
    const { rows } = await client.query<{ run_id: string }>(
      `select s.run_id from steps s join runs r on r.id = s.run_id join processes p on p.id = r.process_id
        where p.pid = $1 and r.status = 'running' and s.kind = 'tool' and s.status = 'running' and not s.idempotent`,
      [pid],
    )
    return rows.map(({ run_id }) => run_id)
  } finally {
    await client.end()
  }
}

/** Reads each run of the goal as it comes, until the goal is over or the server is gone. */
async function watch(who: Caller, chat: string, seen: Map<string, SentEvent[]>): Promise<void> {
  for (;;) {
    const { status, body } = await who.get(`/chats/${chat}/goal`)
    if (status === 404) return
    const { run_id: run, status: state } = body.data
    if (run !== null && !seen.has(run)) {
      const events: SentEvent[] = []
      seen.set(run, events)
      for await (const event of readEvents(who, `/chats/${chat}/runs/${run}/events`)) events.push(event)
    } else if (state !== 'active') return
  }
}

/** Takes what broke off as done where a person is asked; answers the runs that asked. */
async function seeThrough(who: Caller, chat: string, must: boolean, deadline: number): Promise<string[]> {
  const asked: string[] = []
  for (;;) {
    assert.ok(performance.now() < deadline, `not over: ${(await who.get(`/chats/${chat}/runs`)).text}`)
    const goal = await who.get(`/chats/${chat}/goal`)
    // Nobody was told that it began.
    if (goal.status === 404 && !must) return asked
    assert.equal(goal.status, 200, goal.text)
    const runs = (await who.get(`/chats/${chat}/runs`)).body.data
    for (const { id, status, status_reason, pending_actions } of runs) {
      if (status !== 'requires_action') continue
      assert.equal(status_reason, 'interrupted')
      const actions = pending_actions.map((one: { id: string }) => ({ id: one.id, decision: 'allow', output: 'done' }))
      const answer = await who.post(`/chats/${chat}/runs/${id}/actions`, { actions })
      assert.equal(answer.status, 200, answer.text)
      asked.push(id)
    }
    if (goal.body.data.status === 'active') {
      await sleep(10)
      continue
    }
    assert.equal(goal.body.data.status, 'achieved', goal.text)
    for (const { status, error } of runs)
      assert.ok(status === 'completed' || (status === 'failed' && error.code === 'interrupted'), JSON.stringify(runs))
    return asked
  }
}

/** Until the books are closed and what they say has reached the runs. */
async function settled(server: TestServer, { chat }: Scene): Promise<void> {
  const { engine } = server.app
  await engine.ledger.flush()
  const deadline = performance.now() + RECOVERED_MS
  for (;;) {
    const { rows } = await engine.postgres.pool.query<{ open: string }>(
      `select (select count(*) from reservations)
        + (select count(*) from calls c where c.chat_id = $1
            and not exists (select from steps s where s.run_id = c.run_id and (s.result ->> 'call_id')::ulid = c.id)) as open`,
      [chat],
    )
    if (Number(rows[0]!.open) === 0) return
    assert.ok(performance.now() < deadline, 'calls are open, or their runs do not know of them')
  }
}

/** No gap, an end, what was seen is still there, and what the events tell is what the message says. */
async function checkLogs(who: Caller, chat: string, seen: Map<string, SentEvent[]>): Promise<number> {
  const runs = (await who.get(`/chats/${chat}/runs`)).body.data
  const messages = (await who.get(`/chats/${chat}/messages?branch=all`)).body.data
  for (const { id, status } of runs) {
    const log = await allEvents(who, `/chats/${chat}/runs/${id}/events`)
    assert.deepEqual(
      log.map((event) => Number(event.id)),
      log.map((_, i) => i + 1),
    )
    assert.equal(log.at(-1)!.event, `run.${status}`)
    const before = seen.get(id) ?? []
    assert.deepEqual(log.slice(0, before.length), before)
    assert.equal(log.filter(({ event }) => event === 'run.started').length, 1)
    const message = messages.find((one: { run_id: string; role: string }) => one.run_id === id && one.role !== 'user')
    assert.equal(log.map(({ event, data }) => (event === 'text.delta' ? data.delta : '')).join(''), message.text)
  }
  for (const run of seen.keys())
    assert.ok(
      runs.some(({ id }: { id: string }) => id === run),
      `run ${run} is gone`,
    )
  return runs.length
}

/** Each call is one step and the other way round, no turn that was kept was asked for again, and the sums are one. */
async function checkBooks(server: TestServer, { chat, account }: Scene): Promise<void> {
  const { pool } = server.app.engine.postgres
  const one = async (text: string, ...values: unknown[]): Promise<bigint> =>
    BigInt((await pool.query<{ n: string | null }>(`select (${text})::text as n`, values)).rows[0]!.n ?? 0)
  const { rows: odd } = await pool.query(
    `select s.run_id, s.status, s.result ->> 'call_id' as call, s.cost_nano as step_nano, c.cost_nano from steps s
      full join calls c on c.id = (s.result ->> 'call_id')::ulid
      where s.kind is distinct from 'tool' and s.cost_nano is distinct from c.cost_nano`,
  )
  assert.deepEqual(odd, [])
  const { rows: turnsOf } = await pool.query<{ id: string; kept: bigint; said: bigint }>(
    `select r.id, (select count(*) from steps s where s.run_id = r.id and s.kind = 'model' and s.status = 'completed') as kept,
        1 + (select count(*) from jsonb_array_elements(m.content) part where part ->> 'type' = 'tool_call') as said
      from runs r join messages m on m.id = r.output_message_id where r.chat_id = $1 and r.status = 'completed'`,
    [chat],
  )
  for (const { id, kept, said } of turnsOf) assert.equal(kept, said, `run ${id}: ${kept} turns were paid, ${said} said`)
  const judgements = await one(`select count(*) from steps where kind = 'evaluation' and status = 'completed'`)
  assert.ok(judgements <= BigInt(turnsOf.length))
  const spent = await one('select sum(cost_nano) from calls')
  assert.equal(await one('select sum(cost_nano) from steps'), spent)
  assert.equal(
    await one(
      'select (select coalesce(sum(cost_nano), 0) from runs) + (select coalesce(sum(judge_nano), 0) from goals)',
    ),
    spent,
  )
  assert.equal(await one('select coalesce(sum(held), 0) from spends'), 0n)
  assert.equal(
    await one(`select count(*) from (select call_id from ledger where kind in ('settle', 'release')
      group by call_id having count(*) <> 1) odd`),
    0n,
  )
  const balance = await one('select nano from balances where account_id = $1', account)
  assert.equal(balance, await one('select sum(change) from ledger where account_id = $1', account))
  assert.equal(balance, BigInt(CREDITS_USD) * 1_000_000_000n - spent)
}

/** A call that may not be repeated was begun once in a run, and one that broke off was asked about. */
async function checkTools(server: TestServer, { chat }: Scene, broken: string[], asked: string[]): Promise<void> {
  const { pool } = server.app.engine.postgres
  const { rows: begun } = await pool.query<{ run_id: string; status: string }>(
    `select s.run_id, s.status from steps s join runs r on r.id = s.run_id
      where s.kind = 'tool' and not s.idempotent and r.chat_id = $1`,
    [chat],
  )
  assert.equal(new Set(begun.map(({ run_id }) => run_id)).size, begun.length)
  for (const run of broken) assert.ok(asked.includes(run), `run ${run} went on from a call that may have been done`)
  const { rows } = await pool.query<{ made: number }>('select count(*)::int as made from chats where title = $1', [
    MADE,
  ])
  const done = begun.filter(({ status }) => status === 'completed').length
  assert.ok(rows[0]!.made >= done && rows[0]!.made <= begun.length, `${rows[0]!.made} made in ${begun.length} calls`)
}
