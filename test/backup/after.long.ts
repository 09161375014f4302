import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import pg from 'pg'
import { makeBackup } from '#infra/backup/make.ts'
import { holdBlobs } from '#infra/blobs/hold.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import { make, slow } from '../automations/hooks.ts'
import { testDatabase } from '../database.ts'
import { upload } from '../drive/drive.ts'
import { needs } from '../needs.ts'
import { mailbox } from '../outside/mailbox.ts'
import { startProgram, temporaryDir } from '../program.ts'
import { caller, testServer } from '../server.ts'
import { until } from '../until.ts'
import { hostOf, tableHashes, uk } from './backup.ts'

test('a restored instance doesn’t send pending emails and webhooks or resume runs and schedules unless requested', async () => {
  using dir = temporaryDir()
  await using box = await mailbox()
  const deadMail = { SMTP_URL: 'smtp://127.0.0.1:1' }
  const hook = { UK_FETCH_ALLOW: '127.0.0.0/8' }
  await using server = await testServer({ environment: { ...deadMail, ...hook } })
  const alice = await server.person('Alice')
  // A webhook whose receiver does not answer, a mail that nobody takes, a run that goes on and one behind it.
  const endpoint = { name: 'Ours', url: 'http://127.0.0.1:1/hook', events: ['chat.created'] }
  const made = await alice.post('/webhook-endpoints', { ...endpoint, workspace_id: alice.workspaceId })
  assert.equal(made.status, 201, made.text)
  const team = (await alice.post('/workspaces', { name: 'Team' })).body.data.id
  const invited = await alice.post(`/workspaces/${team}/invitations`, { email: 'bob@example.com', role: 'member' })
  assert.equal(invited.status, 201, invited.text)
  const chat = (await alice.post('/chats', { workspace_id: alice.workspaceId, title: 'Talk' })).body.data.id
  const send = (content: string) =>
    alice.post(`/chats/${chat}/messages`, { content, model: 'sim/script', background: true })
  assert.equal((await send(slow)).status, 202)
  assert.equal((await send(slow)).status, 202)
  const cron = await make(alice, {
    name: 'Hourly',
    kind: 'cron',
    schedule: '0 * * * *',
    time_zone: 'UTC',
    catch_up: 'all',
  })
  const { pool } = server.app.engine.postgres
  const count = async (sql: string): Promise<number> =>
    (await pool.query(`select count(*)::int as n from ${sql}`)).rows[0].n
  await until(
    () => count(`runs where status = 'running'`),
    (n) => n === 1,
  )
  await until(
    () => count(`webhook_deliveries where status = 'waiting'`),
    (n) => n >= 1,
  )
  const mails = `graphile_worker._private_jobs j join graphile_worker._private_tasks t on t.id = j.task_id where t.identifier = 'mail.send'`
  await until(
    () => count(mails),
    (n) => n >= 1,
  )
  const to = join(dir.path, 'ukiyo.tar')
  const backedUp = await uk(hostOf(server.database), ['backup', '--to', to])
  assert.equal(backedUp.status, 0, backedUp.stderr)
  await server.app[Symbol.asyncDispose]()

  const environment = { SMTP_URL: box.url, ...hook }
  {
    await using database = await testDatabase()
    const restored = await uk(hostOf(database), ['restore', to])
    assert.equal(restored.status, 0, restored.stderr)
    assert.match(restored.stderr, /2 chat runs, stopped/)
    assert.match(restored.stderr, /1 webhook deliveries, canceled/)
    await using again = await testServer({ database, environment })
    const { rows } = await again.app.engine.postgres.pool.query('select status from runs order by id')
    assert.deepEqual(
      rows.map(({ status }) => status),
      ['cancelled', 'cancelled'],
    )
    // What comes of new work is sent: the first mail is of today, and not the one that waited.
    const key = await signedIn(again.origin, alice)
    const mailed = await key.post(`/workspaces/${team}/invitations`, { email: 'carol@example.com', role: 'member' })
    assert.equal(mailed.status, 201, mailed.text)
    assert.match(await box.next(), /carol@example\.com/)
    assert.deepEqual(box.unread, [])
    const waiting = await again.app.engine.postgres.pool.query(
      `select count(*)::int as n from webhook_deliveries where status = 'waiting'`,
    )
    assert.equal(waiting.rows[0].n, 0)
    const told = await key.get(`/chats/${chat}/messages`)
    assert.equal(told.body.data.at(-1).status, 'incomplete')
  }
  await using database = await testDatabase()
  const resumed = await uk(hostOf(database), ['restore', to, '--resume'])
  assert.equal(resumed.status, 0, resumed.stderr)
  await using again = await testServer({ database, environment })
  assert.match(await box.next(), /bob@example\.com/)
  const runs = await until(
    async () => (await again.app.engine.postgres.pool.query('select status from runs order by id')).rows,
    // The first had shown words that cannot be said again; the one behind it begins.
    ([, second]) => second.status === 'running',
  )
  assert.equal(runs[0].status, 'failed')
  assert.ok(cron.id)
})

test('a schedule time that passed before the restore is skipped, and the next one fires', async () => {
  using dir = temporaryDir()
  await using server = await testServer()
  const alice = await server.person('Alice')
  const { id } = await make(alice, {
    kind: 'cron',
    schedule: '0 0 1 1 *',
    time_zone: 'UTC',
    catch_up: 'all',
    catch_up_window_seconds: 604_800,
  })
  await server.app[Symbol.asyncDispose]()
  const to = join(dir.path, 'ukiyo.tar')
  const due = (sql: string, database = server.database) =>
    import('pg').then(async ({ default: pg }) => {
      const client = new pg.Client(database.connection)
      await client.connect()
      try {
        return (await client.query(sql, [id])).rows
      } finally {
        await client.end()
      }
    })
  // The last start of the year was an hour ago, as far as this instance knew.
  await due(`update automations set next_fire_at = now() - interval '1 hour' where id = $1`)
  assert.equal((await uk(hostOf(server.database), ['backup', '--to', to])).status, 0)
  await using database = await testDatabase()
  const restored = await uk(hostOf(database), ['restore', to])
  assert.match(restored.stderr, /1 missed automation runs, skipped/)
  const [row] = await due('select next_fire_at from automations where id = $1', database)
  assert.ok(row!.next_fire_at > new Date())
  await using again = await testServer({ database })
  const runs = await again.app.engine.postgres.pool.query('select count(*)::int as n from automation_runs')
  assert.equal(runs.rows[0].n, 0)
})

test('a backup or restore killed at any point leaves nothing usable, and the next one succeeds', async () => {
  using dir = temporaryDir()
  await using server = await testServer()
  const alice = await server.person('Alice')
  for (let i = 0; i < 8; i += 1)
    await upload(alice, { workspace_id: alice.workspaceId }, randomBytes(8 << 20), `${i}.bin`)
  const host = hostOf(server.database)
  const to = join(dir.path, 'backups')
  /** Killed with all its processes when the condition comes true. */
  const killed = async (environment: Record<string, string>, words: string[], when: () => Promise<boolean>) => {
    let pid = 0
    const ending = uk(environment, words, { onSpawn: (started) => (pid = started) })
    const over = new AbortController()
    void ending.then(() => over.abort())
    while (!over.signal.aborted && !(await when())) await sleep(1)
    if (!over.signal.aborted) process.kill(-pid, 'SIGKILL')
    return ending
  }
  const files = async (path: string): Promise<number> =>
    (await readdir(path, { recursive: true }).catch(() => [])).length
  for (const least of [1, 4, 14]) await killed(host, ['backup', '--to', to], async () => (await files(to)) > least)
  await using database = await testDatabase()
  const empty = await tableHashes(database)
  const refused = await uk(hostOf(database), ['restore', to])
  assert.match(refused.stderr, /doesn’t contain a complete backup/)
  assert.equal((await uk(host, ['backup', '--to', to])).status, 0)

  const blobs = join(database.dataDir, 'blobs')
  for (const least of [1, 8, 20]) {
    const ended = await killed(hostOf(database), ['restore', to], async () => (await files(blobs)) > least)
    assert.equal(ended.signal, 'SIGKILL')
    assert.deepEqual(await tableHashes(database), empty)
  }
  const restored = await uk(hostOf(database), ['restore', to])
  assert.equal(restored.status, 0, restored.stderr)
  await using again = await testServer({ database })
  const { rows } = await again.app.engine.postgres.pool.query(`select count(*)::int as n from blobs where place <> ''`)
  assert.equal(rows[0].n, 8)
})

const canMount = ((): boolean => {
  using dir = temporaryDir()
  try {
    execFileSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'tmpfs', dir.path], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
})()

test(
  'a full disk is reported, no part of the backup is kept, and a restore is rejected before it starts',
  needs(canMount, 'the right to mount'),
  async () => {
    using dir = temporaryDir()
    await using server = await testServer()
    const alice = await server.person('Alice')
    await upload(alice, { workspace_id: alice.workspaceId }, randomBytes(6 << 20), 'large.bin')
    const host = hostOf(server.database)
    const small = join(dir.path, 'small')
    mkdirSync(small)
    const inSmall = (script: string, environment: Record<string, string>, words: string[]) =>
      uk(environment, words, {
        wrap: ['unshare', '--mount', 'sh', '-c', `mount -t tmpfs -o size=4m tmpfs ${small} && ${script}`, 'sh'],
      })
    for (const to of [join(small, 'ukiyo.tar'), join(small, 'backups')]) {
      const ended = await inSmall(`"$@"; code=$?; find ${small} -name '*.tar*' -o -name '*Z*'; exit $code`, host, [
        'backup',
        '--to',
        to,
      ])
      assert.equal(ended.status, 1)
      assert.match(ended.stderr, /there is no space left on the disk of/)
      assert.equal(ended.stdout.toString(), '')
    }
    const to = join(dir.path, 'ukiyo.tar')
    assert.equal((await uk(host, ['backup', '--to', to])).status, 0)
    await using database = await testDatabase()
    const refused = await inSmall(
      '"$@"',
      { ...hostOf(database), UK_DATA_DIR: join(small, 'data'), UK_SECRET_KEY: 'x'.repeat(40) },
      ['restore', to, '--without-key'],
    )
    assert.equal(refused.status, 1)
    assert.match(refused.stderr, /[\d.]+ [KM]B free, about [\d.]+ MB needed/)
  },
)

test('the embedded database of a running server is backed up and restored into a new data directory', async () => {
  using dir = temporaryDir()
  const [from, into] = [join(dir.path, 'from'), join(dir.path, 'into')]
  const to = join(dir.path, 'backups')
  const person = { email: 'alice@example.com', password: 'the password of Alice' }
  {
    await using program = startProgram({ UK_DATA_DIR: from })
    const origin = await program.ready
    const csrf = { 'x-uk-csrf': '1' }
    assert.equal((await caller(origin, csrf).post('/auth/sign-up', { ...person, name: 'Alice' })).status, 201)
    const backedUp = await uk({ UK_DATA_DIR: from }, ['backup', '--to', to, '--with-key', '--passphrase-file', '-'], {
      input: 'correct horse battery\n',
    })
    assert.equal(backedUp.status, 0, backedUp.stderr)
  }
  const restored = await uk({ UK_DATA_DIR: into, UK_BACKUP_PASSPHRASE: 'correct horse battery' }, ['restore', to])
  assert.equal(restored.status, 0, restored.stderr)
  await using program = startProgram({ UK_DATA_DIR: into })
  const origin = await program.ready
  assert.equal((await caller(origin, { 'x-uk-csrf': '1' }).post('/auth/sign-in', person)).status, 200)
  const running = await uk({ UK_DATA_DIR: into, UK_BACKUP_PASSPHRASE: 'correct horse battery' }, ['restore', to])
  assert.match(running.stderr, /is in use by process \d+/)
})

const signedIn = async (origin: string, { email, password }: { email: string; password: string }) => {
  const answer = await caller(origin, { 'x-uk-csrf': '1' }).post('/auth/sign-in', { email, password })
  const cookie = answer.headers.get('set-cookie')!.split(';')[0]!
  return caller(origin, { cookie, 'x-uk-csrf': '1' })
}

test('content stays locked while it is copied, even if the database closes idle connections', async () => {
  using dir = temporaryDir()
  await using server = await testServer()
  const alice = await server.person('Alice')
  await upload(alice, { workspace_id: alice.workspaceId }, randomBytes(1_000), 'one.bin')
  const { postgres, blobs } = server.app.engine
  const { connection } = server.database
  const { rows } = await postgres.pool.query<{ name: string }>('select current_database() as name')
  await postgres.pool.query(`alter database "${rows[0]!.name}" set idle_session_timeout = '300ms'`)
  const held: boolean[] = []
  const slowly = {
    ...blobs,
    async *read(place: string) {
      await sleep(1_500)
      const other = new pg.Client(connection)
      await other.connect()
      held.push(!(await holdBlobs(other, 0)))
      await other.end()
      yield* blobs.read(place)
    },
  }
  const key = { ids: [], sealed: null }
  const made = await makeBackup(
    { connection, blobs: slowly, version: '0', key, signWith: null, sealed: [] },
    { to: dir.path, keep: null, at: new Date() },
    { begin: () => {}, add: () => {} },
  )
  assert.deepEqual([held, made.manifest.blobs.missing], [[true], []])
})
