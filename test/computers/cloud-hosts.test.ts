// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import pg from 'pg'
import { openHost } from '#modules/computers/drivers/host.ts'
import { run } from '#modules/computers/drivers/run.ts'
import { leaseOf } from '#modules/computers/drivers/store.ts'
import { databaseUrl, testDatabase } from '../database.ts'
import { needs } from '../needs.ts'
import { type Program, startProgram } from '../program.ts'
import { type Caller, caller } from '../server.ts'
import { until } from '../until.ts'
import { startS3 } from '../vendors/s3/s3.ts'
import { cloudsOf } from './cloud.ts'

const bubbles = needs((await run(['bwrap', '--version'])).code === 0, 'bubblewrap')
const database = await testDatabase()
const pool = new pg.Pool({ ...database.connection, max: 2 })
const s3 = await startS3()
/** Per host: homes and other server data. */
const dirs = [0, 1].map(() => mkdtempSync(join(tmpdir(), 'uk-host-')))
after(async () => {
  await pool.end()
  for (const dir of dirs) {
    rmSync(openHost(dir).folder, { recursive: true, force: true })
    rmSync(dir, { recursive: true, force: true })
  }
  await s3[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})

/** Starts a server on its own host. Only the database and blobs are shared. */
const startOn = (host: number): Program =>
  startProgram({
    UK_DATA_DIR: dirs[host]!,
    DATABASE_URL: databaseUrl(database),
    UK_SECRET_KEY: 'one root key for every host of these tests',
    UK_LOG: 'error',
    UK_COMPUTER_DRIVERS: 'bubblewrap',
    UK_BLOBS: `s3://${s3.bucket}/instance`,
    UK_S3_ENDPOINT: s3.origin,
    AWS_ACCESS_KEY_ID: s3.accessKeyId,
    AWS_SECRET_ACCESS_KEY: s3.secretAccessKey,
    AWS_REGION: s3.region,
    UK_LIMIT_WRITES: '0',
    UK_LIMIT_READS: '0',
  })

const placeOf = async (id: string): Promise<string> =>
  (await pool.query('select host from cloud_computers where computer_id = $1', [id])).rows[0].host

test(
  'two hosts share a database: each manages its own computers, both accept requests, and snapshots move homes, even of a lost host',
  bubbles,
  async () => {
    const programs = [startOn(0), startOn(1)]
    await using _all = {
      async [Symbol.asyncDispose]() {
        for (const program of programs) await program[Symbol.asyncDispose]()
      },
    }
    const origins = await Promise.all(programs.map(({ ready }) => ready))
    const person = { email: 'alice@example.com', password: 'a long password', name: 'Alice' }
    const { headers } = await caller(origins[0]!, { 'x-uk-csrf': '1' }).post('/auth/sign-up', person)
    const cookie = headers.get('set-cookie')!.split(';')[0]!
    const [here, there] = origins.map((origin) => caller(origin, { cookie, 'x-uk-csrf': '1' })) as [Caller, Caller]
    const at = cloudsOf(() => here)
    const beyond = cloudsOf(() => there)

    const home = await at.make()
    const other = await beyond.make()
    assert.notEqual(await placeOf(home), await placeOf(other))
    // Sent to the other host's server.
    await beyond.exec(
      home,
      'head -c 3000000 /dev/urandom > big; sha256sum big > sum; mkdir -p deep/er; echo kept > deep/er/word',
    )
    assert.equal((await at.exec(other, 'echo across')).stdout, 'across\n')

    // Snapshots are made on the host with the home, whichever server gets the request.
    const snapshots: string[] = []
    for (const [helper, id] of [
      [at, home],
      [beyond, home],
      [at, other],
      [beyond, other],
      [beyond, home],
      [at, home],
    ] as const) {
      const { status, result, error } = await helper.snapshot(id)
      assert.equal(status, 'succeeded', JSON.stringify(error))
      snapshots.push(result.id)
    }
    const newId = await beyond.make({ from_snapshot: snapshots[1] })
    assert.equal(await placeOf(newId), await placeOf(other))
    assert.equal((await beyond.exec(newId, 'sha256sum -c sum && cat deep/er/word')).stdout, 'big: OK\nkept\n')
    for (const verb of ['stop', 'start'] as const) {
      // Sent to the server without the home.
      const response = await here.post(`/computers/${newId}/${verb}`)
      assert.equal(response.status, 200, response.text)
      await at.settles(newId, verb === 'stop' ? 'stopped' : 'running')
    }
    assert.equal((await at.exec(newId, 'cat deep/er/word')).stdout, 'kept\n')

    // The first host disappears with its homes.
    programs[0]!.child.kill('SIGKILL')
    await programs[0]!.exited
    // A dead host is noticed when its lease expires, here after three seconds.
    const { rows } = await pool.query(
      `update leases set expires_at = clock_timestamp() + interval '3 seconds' where name = $1 returning holder`,
      [leaseOf(await placeOf(home))],
    )
    await pool.query(
      `update processes set place = 'another host', expires_at = clock_timestamp() + interval '3 seconds' where id = $1`,
      [rows[0].holder],
    )
    // Requests before that wait.
    const early = await there.post(`/computers/${home}/snapshots`, {})
    assert.equal(early.status, 202, early.text)
    const offlineMessage = /host that has this computer’s home is offline.*a new computer elsewhere from a snapshot/
    await until(
      async () => (await there.post(`/computers/${home}/snapshots`, {})).body.error?.message as string,
      (message) => offlineMessage.test(message),
    )
    const again = await beyond.make({ from_snapshot: snapshots.at(-1) })
    assert.equal((await beyond.exec(again, 'sha256sum -c sum')).stdout, 'big: OK\n')
    assert.equal((await beyond.exec(other, 'echo still')).stdout, 'still\n')
    for (const id of [newId, again, other]) assert.equal((await there.delete(`/computers/${id}`)).status, 200)
    await until(
      async () => (await pool.query('select from cloud_remains')).rowCount,
      (count) => count === 0,
    )

    // The host returns and continues with its homes.
    programs[0] = startOn(0)
    const back = caller(await programs[0].ready, { cookie, 'x-uk-csrf': '1' })
    const returned = cloudsOf(() => back)
    await until(
      async () => (await there.post(`/computers/${home}/exec`, { command: 'cat deep/er/word' })).body.data?.stdout,
      (word) => word === 'kept\n',
    )
    assert.equal((await returned.waitForEnd(early.body.data.id)).status, 'succeeded')
    assert.equal((await there.delete(`/computers/${home}`)).status, 200)
    const folder = openHost(dirs[0]!).folder
    await until(
      async () => existsSync(join(folder, home)),
      (remains) => !remains,
    )
  },
)
