// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { get } from 'node:http'
import { after, test } from 'node:test'
import pg from 'pg'
import { databaseUrl, testDatabase } from '../database.ts'
import { startProgram } from '../program.ts'
import { until } from '../until.ts'

const CLIENTS = 12
const KILLS = 2
/** Beyond what any answer takes, and short of every timeout of the server's. */
const UNHEARD_MS = 20_000

const database = await testDatabase()
const pool = new pg.Pool({ ...database.connection, max: 1 })
after(async () => {
  await pool.end()
  await database[Symbol.asyncDispose]()
})
const workers = async (): Promise<number[]> =>
  (await pool.query<{ pid: number }>('select pid from processes where expires_at > clock_timestamp()')).rows.map(
    ({ pid }) => pid,
  )

test('a killed worker closes its connections and leaves no client waiting', async () => {
  await using program = startProgram({
    UK_WORKERS: '2',
    UK_DATA_DIR: database.dataDir,
    DATABASE_URL: databaseUrl(database),
    UK_LOG: 'error',
  })
  const origin = await program.ready
  const outcomes = new Map<string, number>()
  const over = new AbortController()
  const clients = Array.from({ length: CLIENTS }, async () => {
    while (!over.signal.aborted) {
      const outcome = await ask(`${origin}/healthz`)
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
    }
  })
  for (let n = 0; n < KILLS; n++) {
    const [first] = await until(workers, (pids) => pids.length === 2)
    process.kill(first!, 'SIGKILL')
    await until(workers, (pids) => !pids.includes(first!))
  }
  await until(workers, (pids) => pids.length === 2)
  over.abort()
  await Promise.all(clients)
  assert.equal(outcomes.get('unheard'), undefined, JSON.stringify([...outcomes]))
  assert.ok(outcomes.get('200')! > CLIENTS * KILLS, JSON.stringify([...outcomes]))
})

/** A connection of its own for each request. Answers its status, or how it ended without one. */
const ask = (url: string): Promise<string> =>
  new Promise((resolve) => {
    const unheard = setTimeout(() => {
      request.destroy()
      resolve('unheard')
    }, UNHEARD_MS)
    const end = (outcome: string): void => {
      clearTimeout(unheard)
      resolve(outcome)
    }
    const request = get(url, { agent: false }, (response) => {
      response.resume()
      response.once('close', () => end(String(response.statusCode)))
    }).once('error', ({ code }: NodeJS.ErrnoException) => end(code ?? 'error'))
  })
