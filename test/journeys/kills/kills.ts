import assert from 'node:assert/strict'
import { type TestDatabase, databaseUrl, testDatabase } from '../../database.ts'
import { type Program, startProgram, temporaryDir } from '../../program.ts'
import { caller, testServer } from '../../server.ts'
import { stopwatch } from '../../until.ts'
import { startOpenAI } from '../../vendors/openai/openai.ts'
import { pricedModel, userMessages } from '../gateway/world.ts'

/** The books after servers were killed under load. */
export interface Killed {
  kills: number
  arrived: number
  reserved: number
  settled: number
  /** Settled on an estimate, because nobody was left who knew better. */
  estimated: number
  released: number
  answered: number
}

/** The time within which a process settles, once an answer has ended. */
const SETTLE_MS = 500
const CLIENTS = 12
/** Of all processes: each must open the provider's key. */
const ROOT_KEY = 'one root key for every process of it'

/**
 * Kills one of two server processes on one database, again and again, while clients spend a key's cap and a balance
 * through both; then lets a server look after what they left. Checks that every call that reached the vendor is in the
 * books, that each line of them is closed, and that they add up.
 */
export async function killUnderLoad(rounds: number): Promise<Killed> {
  await using database = await testDatabase()
  await using vendor = await startOpenAI({
    otherwise: { reply: 'an answer of some words', usage: { input: 20, output: 30 }, delayMs: 20, perChunkDelayMs: 15 },
  })
  const environment = { UK_SECRET_KEY: ROOT_KEY, UK_UPSTREAM_ALLOW: '127.0.0.0/8' }
  const rootKeys = [ROOT_KEY]
  const { key, bob } = await prepared(database, vendor, { environment, rootKeys })

  using dirs = new DisposableStack()
  const start = (): Program =>
    startProgram({
      ...environment,
      UK_DATA_DIR: dirs.use(temporaryDir()).path,
      DATABASE_URL: databaseUrl(database),
      UK_LOG: 'error',
      UK_LIMIT_INFERENCE: '0',
      UK_LIMIT_IN_FLIGHT: '0',
    })
  const programs = [start(), start()]
  const origins = await Promise.all(programs.map(({ ready }) => ready))
  const answers: { id: string; slot: number; at: number; generation: number }[] = []
  const generations = [0, 0]
  const deaths: number[][] = [[], []]
  const over = new AbortController()
  const now = stopwatch()

  const clients = Array.from({ length: CLIENTS }, async (_, i) => {
    for (let turn = 0; !over.signal.aborted; turn++) {
      const slot = (i + turn) % 2
      const generation = generations[slot]!
      const by = caller(origins[slot]!, { authorization: `Bearer ${key}` })
      const body = {
        model: 'oa/gpt-4o',
        max_tokens: 50,
        messages: userMessages('x'.repeat(40)),
        stream: turn % 3 === 0,
      }
      const answer = await by.post('/compat-a/v1/chat/completions', body).catch(() => null)
      if (answer === null) continue
      assert.ok([200, 402, 503].includes(answer.status), `${answer.status} ${answer.text}`)
      if (answer.status === 200) answers.push({ id: answer.headers.get('x-request-id')!, slot, at: now(), generation })
    }
  })
  for (let round = 0; round < rounds; round++) {
    const slot = round % 2
    const enough = answers.length + 20 + Math.floor(Math.random() * 30)
    while (answers.length < enough) await new Promise((resolve) => setTimeout(resolve, 2))
    programs[slot]!.child.kill('SIGKILL')
    deaths[slot]!.push(now())
    await programs[slot]!.exited
    programs[slot] = start()
    origins[slot] = await programs[slot].ready
    generations[slot]!++
  }
  over.abort()
  await Promise.all(clients)
  for (const program of programs) await program[Symbol.asyncDispose]()

  await using server = await testServer({ database, environment, rootKeys })
  const { pool } = server.app.engine.postgres
  const one = async (text: string, ...values: unknown[]): Promise<bigint> =>
    BigInt((await pool.query<{ n: string }>(`select (${text})::text as n`, values)).rows[0]!.n ?? 0)
  while ((await one('select count(*) from reservations')) > 0n) await new Promise((resolve) => setTimeout(resolve, 20))

  const arrived = vendor.requests.filter(({ method }) => method === 'POST').length
  const reserved = Number(await one(`select count(distinct call_id) from ledger where kind = 'reserve'`))
  assert.ok(arrived <= reserved, `${arrived} calls reached the vendor, ${reserved} were reserved`)
  // Each line that holds is closed by exactly one that settles or releases.
  assert.equal(
    await one(`select count(*) from (select call_id from ledger where kind in ('settle', 'release')
      group by call_id having count(*) <> 1) odd`),
    0n,
  )
  const settled = Number(await one(`select count(*) from ledger where kind = 'settle'`))
  const released = Number(await one(`select count(*) from ledger where kind = 'release'`))
  assert.equal(settled + released, reserved)
  assert.equal(BigInt(settled), await one('select count(*) from calls'))
  // An answered call is settled, but for what a process had not written when it was killed.
  const { rows } = await pool.query<{ id: string }>('select id from calls')
  const known = new Set(rows.map(({ id }) => id))
  for (const { id, slot, at, generation } of answers) {
    if (known.has(id)) continue
    const death = deaths[slot]![generation]
    assert.ok(death !== undefined && death - at < SETTLE_MS, `call ${id} was answered and is not in the books`)
  }
  const balance = await one('select nano from balances where account_id = $1', bob)
  assert.equal(balance, await one('select sum(change) from ledger where account_id = $1', bob))
  assert.equal(await one('select coalesce(sum(held), 0) from spends'), 0n)
  const spent = await one(`select nano from spends s join api_keys k on k.id = s.subject where period = 'total'`)
  assert.equal(spent, await one('select sum(cost_nano) from calls'))
  assert.equal(10_000_000_000n - balance, spent)
  const estimated = Number(await one(`select count(*) from calls where cost_source = 'estimated'`))
  return { kills: rounds, arrived, reserved, settled, estimated, released, answered: answers.length }
}

/** Bob with credits, a capped key, and an endpoint of the instance at the vendor. */
async function prepared(
  database: TestDatabase,
  vendor: { origin: string; key: string },
  options: { environment: Record<string, string>; rootKeys: readonly string[] },
) {
  await using server = await testServer({ database, ...options })
  const alice = await server.person('Alice')
  const bob = await server.person('Bob')
  await alice.post(`/admin/accounts/${bob.id}/credits`, { amount_usd: 10 })
  const made = await alice.post('/ai-gateway/provider-endpoints', {
    name: 'oa',
    slug: 'oa',
    shape: 'openai-chat',
    base_url: `${vendor.origin}/v1`,
    api_key: vendor.key,
    models: [pricedModel('gpt-4o')],
    instance: true,
  })
  assert.equal(made.status, 201, made.text)
  return { key: (await bob.key({ spend_cap_usd: 9 })).key, bob: bob.id }
}
