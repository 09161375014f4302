import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { openHost } from '#modules/computers/drivers/host.ts'
import { run } from '#modules/computers/drivers/run.ts'
import { databaseUrl, testDatabase } from '../database.ts'
import { needs } from '../needs.ts'
import { startProgram } from '../program.ts'
import { type Answer, type Caller, caller } from '../server.ts'
import { until } from '../until.ts'
import { cloudsOf } from './cloud.ts'

const bubbles = needs((await run(['bwrap', '--version'])).code === 0, 'bubblewrap')
const database = await testDatabase()
const pool = new pg.Pool({ ...database.connection, max: 2 })
after(async () => {
  await pool.end()
  rmSync(openHost(database.dataDir).folder, { recursive: true, force: true })
  await database[Symbol.asyncDispose]()
})

/** The process that manages the host's cloud computers. */
async function holder(): Promise<number | null> {
  const { rows } = await pool.query<{ pid: number }>(`select p.pid from leases l join processes p on p.id = l.holder
    where l.name like 'cloud_computers.%' and l.expires_at > clock_timestamp() and p.expires_at > clock_timestamp()`)
  return rows[0]?.pid ?? null
}

const processes = async (): Promise<number[]> =>
  (await pool.query<{ pid: number }>('select pid from processes where expires_at > clock_timestamp()')).rows.map(
    ({ pid }) => pid,
  )

/** Retries when the responding process, or another one, died. */
function patient({ get, post, delete: remove, ...rest }: Caller): Caller {
  const again =
    <W extends unknown[]>(ask: (...words: W) => Promise<Answer>) =>
    async (...words: W): Promise<Answer> => {
      for (;;) {
        const answer = await ask(...words).catch(() => null)
        if (answer !== null && answer.status !== 503) return answer
        await sleep(200)
      }
    }
  return { ...rest, get: again(get), post: again(post), delete: again(remove) }
}

const ROUNDS = 4

test(
  'another process takes over all cloud computers of a host when the managing process is killed',
  bubbles,
  async () => {
    await using program = startProgram({
      UK_WORKERS: '2',
      UK_DATA_DIR: database.dataDir,
      DATABASE_URL: databaseUrl(database),
      UK_LOG: 'error',
      UK_COMPUTER_DRIVERS: 'bubblewrap',
      UK_COMPUTERS_PER_WORKSPACE: '100',
      UK_LIMIT_WRITES: '0',
      UK_LIMIT_READS: '0',
    })
    const origin = await program.ready
    const person = { email: 'alice@example.com', password: 'a long password', name: 'Alice' }
    const { headers } = await caller(origin, { 'x-uk-csrf': '1' }).post('/auth/sign-up', person)
    const cookie = headers.get('set-cookie')!.split(';')[0]!
    const alice = patient(caller(origin, { cookie, 'x-uk-csrf': '1' }))
    const { make, exec, settles } = cloudsOf(() => alice)
    const [stays, rests] = [await make(), await make()]
    const { body } = await alice.post(`/computers/${stays}/terminal`, { action: 'open', argv: ['cat'] })
    const command = await alice.post(`/computers/${stays}/exec`, { command: 'sleep 100000', background: true })

    for (let round = 0; round < ROUNDS; round++) {
      const before = await until(holder, (pid) => pid !== null)
      // The last round kills all processes.
      for (const pid of round === ROUNDS - 1 ? await processes() : [before!]) process.kill(pid, 'SIGKILL')
      // Pending requests are completed by the next process.
      const stop = await alice.post(`/computers/${rests}/stop`)
      assert.equal(stop.status, 200, stop.text)
      await settles(rests, 'stopped')
      assert.equal((await exec(stays, `echo round ${round}`)).stdout, `round ${round}\n`)
      await alice.post(`/computers/${rests}/start`)
      await settles(rests, 'running')
      assert.equal((await exec(rests, 'echo here')).stdout, 'here\n')
      const another = await make()
      assert.equal((await exec(another, 'echo new')).stdout, 'new\n')
      assert.equal((await alice.delete(`/computers/${another}`)).status, 200)
      assert.notEqual(await holder(), before)
      const { data } = (await alice.post(`/computers/${stays}/terminal`, { action: 'list' })).body
      assert.deepEqual(
        data.map((one: { terminal_id: string; status: string }) => [one.terminal_id, one.status]),
        [[body.data.terminal_id, 'open']],
      )
      const operation = (await alice.get(`/operations/${command.body.data.id}`)).body.data
      assert.ok(['running', 'queued'].includes(operation.status), JSON.stringify(operation))
    }
    for (const id of [stays, rests]) assert.equal((await alice.delete(`/computers/${id}`)).status, 200)
    await until(
      async () => (await pool.query('select from cloud_remains')).rowCount,
      (count) => count === 0,
    )
  },
)
