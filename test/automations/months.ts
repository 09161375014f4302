import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { createLog } from '#infra/log.ts'
import { testDatabase } from '../database.ts'
import { type Caller, type TestServer, caller, testServer } from '../server.ts'
import { moveClock, takeOverClock } from './held-clock.ts'
import { type Wall, WalkedZone, patternOf } from './wall-clock.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

export interface Span {
  from: string
  until: string
  automations: number
  seed: number
  /** Of a hundred moves of the clock, how many come with both servers stopped. */
  downtimes: number
}

export interface Lived {
  ticks: number
  ran: number
  skipped: Record<string, number>
  edits: number
  downtimes: number
  setBack: number
}

const zones = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'America/Santiago',
  'Australia/Sydney',
  'Australia/Lord_Howe',
  'Pacific/Chatham',
  'Asia/Kolkata',
]
const walls: Wall[] = [
  { minutes: [15], hours: [2], weekdays: null },
  { minutes: [30], hours: [1, 2, 3], weekdays: [0] },
  { minutes: [10, 40], hours: [0, 2], weekdays: null },
  { minutes: [0], hours: [9, 17], weekdays: [1, 2, 3, 4, 5] },
  { minutes: [0], hours: null, weekdays: null },
  { minutes: [0, 30], hours: null, weekdays: [0, 6] },
]

/** The rules that an automation follows from a moment on, and how far the clock has come meanwhile. */
interface Segment {
  wall: Wall
  zone: string
  from: number
  until: number
}

/**
 * Automations live through months in minutes of ours: two servers on a database whose clock is set forward, and at times
 * back, by minutes, hours or days, at times while both are stopped; schedules, zones and policies are edited and
 * automations archived and brought back. Every tick, found by walking through all minutes, must be one row.
 */
export async function liveThrough(span: Span): Promise<Lived> {
  const chance = numbersFrom(span.seed)
  const pick = <T>(of: readonly T[]): T => of[Math.floor(chance() * of.length)]!
  await using database = await testDatabase()
  const pool = new pg.Pool({ ...database.connection, max: 2 })
  // Its end is not waited for by its connections, and the drop of the database breaks them.
  pool.on('error', () => {})
  await using _pool = { [Symbol.asyncDispose]: () => pool.end() }
  let now = Date.parse(span.from)
  let furthest = now
  await takeOverClock(pool, Date.now())
  await keepWhatGoes(pool)
  const environment = { UK_LIMIT_WRITES: '0', UK_LIMIT_READS: '0', UK_DRAIN_SECONDS: '0' }
  const start = async (): Promise<TestServer[]> => {
    const first = await testServer({ database, environment, log: createLog('silent') })
    return [first, await first.twin()]
  }
  let servers = await start()
  const stop = (): Promise<unknown> => Promise.all(servers.map((server) => server[Symbol.asyncDispose]()))
  try {
    const alice = await servers[0]!.person('Alice')
    const { key } = await alice.key()
    await moveClock(pool, now)
    const as = (): Caller => caller(pick(servers).origin, { authorization: `Bearer ${key}` })
    const agent_id = (await alice.post('/agents', { name: 'Clerk', model: 'sim/echo' })).body.data.id as string
    const archived = new Set<string>()
    const segments = await createAutomations(span.automations, { caller: as, agentId: agent_id, pick, startedAt: now })
    const ids = [...segments.keys()]
    const lived: Lived = { ticks: 0, ran: 0, skipped: {}, edits: 0, downtimes: 0, setBack: 0 }

    const move = async (ms: number): Promise<void> => {
      now += ms
      furthest = Math.max(furthest, now)
      await moveClock(pool, now)
      for (const each of segments.values()) each.at(-1)!.until = Math.max(each.at(-1)!.until, now)
    }
    const settle = async (): Promise<void> => {
      for (let i = 0; ; i++) {
        servers[0]!.app.engine.bus.poke('automations')
        const { rowCount } = await pool.query('select 1 from automations where next_fire_at <= $1 limit 1', [
          new Date(now),
        ])
        if (rowCount === 0) return
        assert.ok(i < 2_000, 'what is due is fired')
        await sleep(5)
      }
    }

    while (now < Date.parse(span.until)) {
      const dice = chance() * 100
      if (dice < span.downtimes) {
        await stop()
        await move((0.2 + chance() * 6) * DAY)
        servers = await start()
        lived.downtimes += 1
      } else if (dice < span.downtimes + 5) {
        await move(-(1 + Math.floor(chance() * 90)) * MINUTE)
        lived.setBack += 1
      } else if (dice < 55) await move(Math.floor(1 + chance() * 40) * MINUTE)
      else await move(Math.floor(chance() * 8 * HOUR))
      // At times an edit comes before anybody has seen the clock.
      if (chance() < 0.7) await settle()
      if (chance() > 0.3) continue
      const id = pick(ids)
      lived.edits += 1
      const edit = pick(['schedule', 'zone', 'policy', 'archive'] as const)
      if (edit === 'archive') {
        const verb = archived.delete(id) ? 'unarchive' : 'archive'
        if (verb === 'archive') archived.add(id)
        await untilTaken(() => as().post(`/automations/${id}/${verb}`))
        continue
      }
      const before = segments.get(id)!.at(-1)!
      const wall = edit === 'schedule' ? pick(walls) : before.wall
      const zone = edit === 'zone' ? pick(zones) : before.zone
      const policy = { catch_up: pick(['none', 'latest', 'all']), overlap: pick(['skip', 'queue', 'allow']) }
      await untilTaken(() =>
        as().patch(`/automations/${id}`, {
          schedule: patternOf(wall),
          time_zone: zone,
          ...(edit === 'policy' && policy),
        }),
      )
      if (wall !== before.wall || zone !== before.zone) segments.get(id)!.push({ wall, zone, from: now, until: now })
    }
    await move(furthest - now)
    await settle()
    await allEnded(pool)
    await checkTicks(pool, span, segments, lived)
    return lived
  } finally {
    await stop()
  }
}

async function createAutomations(
  count: number,
  {
    caller,
    agentId,
    pick,
    startedAt,
  }: {
    caller: () => Caller
    agentId: string
    pick: <T>(of: readonly T[]) => T
    startedAt: number
  },
): Promise<Map<string, Segment[]>> {
  const segments = new Map<string, Segment[]>()
  for (let i = 0; i < count; i++) {
    const [wall, zone] = [walls[i % walls.length]!, zones[i % zones.length]!]
    const answer = await caller().post('/automations', {
      name: `Automation ${i}`,
      kind: 'cron',
      schedule: patternOf(wall),
      time_zone: zone,
      action: { type: 'agent', agent_id: agentId, prompt: 'Report.' },
      overlap: pick(['skip', 'queue', 'allow', 'cancel_previous']),
      catch_up: pick(['none', 'latest', 'all']),
      catch_up_window_seconds: pick([0, 3_600, 86_400]),
    })
    assert.equal(answer.status, 201, answer.text)
    segments.set(answer.body.data.id, [{ wall, zone, from: startedAt, until: startedAt }])
  }
  return segments
}

/** Checks that each tick is one row and started at most one run, and counts the ticks in `lived`. */
async function checkTicks(
  pool: pg.Pool,
  span: Span,
  segments: ReadonlyMap<string, readonly Segment[]>,
  lived: Lived,
): Promise<void> {
  const { rows: early } = await pool.query(
    `select id from sim.gone where status <> 'skipped' or gone_at - created_at < interval '30 days'`,
  )
  assert.deepEqual(early, [], 'only skipped ticks of long ago were dropped')
  const { rows } = await pool.query<RunRow>(
    `select automation_id, status, skip_reason, scheduled_for from automation_runs
    union select automation_id, status, skip_reason, scheduled_for from sim.gone`,
  )

  for (const { status, skip_reason } of rows)
    if (status === 'skipped') lived.skipped[skip_reason!] = (lived.skipped[skip_reason!] ?? 0) + 1
    else lived.ran += 1
  const walked = new Map(zones.map((name) => [name, new WalkedZone(name)]))
  for (const [id, of] of segments) {
    const expected = new Set(of.flatMap(({ wall, zone, from, until }) => walked.get(zone)!.ticks(wall, from, until)))
    const scheduled = rows.filter(({ automation_id }) => automation_id === id).map((row) => row.scheduled_for.getTime())
    lived.ticks += expected.size
    const scheduledOnce = new Set(scheduled)
    const times = (ticks: Iterable<number>) => [...ticks].sort((a, b) => a - b).map((ms) => new Date(ms).toISOString())
    assert.deepEqual(
      {
        missing: times(expected.difference(scheduledOnce)),
        extra: times(scheduledOnce.difference(expected)),
        twice: scheduled.length - scheduledOnce.size,
      },
      { missing: [], extra: [], twice: 0 },
      `seed ${span.seed}, ${id}: ${JSON.stringify(of.map(({ wall, zone, from, until }) => [patternOf(wall), zone, new Date(from), new Date(until)]))}`,
    )
  }
  assert.equal(rows.length, lived.ticks)
  const { rowCount: twice } = await pool.query(
    'select automation_run_id from runs where automation_run_id is not null group by 1 having count(*) > 1',
  )
  assert.equal(twice, 0, 'no tick started two runs')
}

/** Skipped ticks are kept for 30 days: rows that go then were there all the same. */
async function keepWhatGoes(pool: pg.Pool): Promise<void> {
  await pool.query('create table sim.gone as select *, created_at as gone_at from automation_runs')
  await pool.query(`create function sim.keep() returns trigger language plpgsql as
    'begin insert into sim.gone select old.*, sim.now(); return old; end'`)
  await pool.query('create trigger gone before delete on automation_runs for each row execute function sim.keep()')
}

/** An edit is refused for as long as missed ticks are still made up for. */
async function untilTaken(call: () => Promise<{ status: number; text: string; body: { error?: { code: string } } }>) {
  for (let i = 0; ; i++) {
    const answer = await call()
    if (answer.status === 200) return
    assert.equal(answer.body.error?.code, 'not_ready', answer.text)
    assert.ok(i < 500)
    await sleep(20)
  }
}

interface RunRow {
  automation_id: string
  status: string
  skip_reason: string | null
  scheduled_for: Date
}

async function allEnded(pool: pg.Pool): Promise<void> {
  for (let i = 0; ; i++) {
    const { rowCount } = await pool.query(`select 1 from automation_runs where status in ('queued', 'running') limit 1`)
    if (rowCount === 0) return
    assert.ok(i < 3_000, 'every run comes to an end')
    await sleep(100)
  }
}

/** The same numbers for the same seed (mulberry32). */
function numbersFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
