// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { link, mkdir, mkdtemp, readFile, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { type IncomingMessage, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { program, ranBy } from '#test/cli/uk.ts'
import { upload } from '#test/drive/drive.ts'
import { machineOf, serverWithAlice } from '#test/computers/world.ts'
import { testServer } from '#test/server.ts'
import { PATIENCE_MS, until } from '#test/until.ts'

/** A proxy that passes a limited number of bytes per download and records the requested ranges. */
async function narrowWay(
  origin: string,
): Promise<AsyncDisposable & { origin: string; ranges: string[]; most: number }> {
  const way = createServer((asked, answer) => {
    const { method, headers, url } = asked
    const onward = request(new URL(url!, origin), { method: method!, headers }, (response: IncomingMessage) => {
      answer.writeHead(response.statusCode!, response.headers)
      const download = /\/drive\/files\/\w{26}$|\/fs\/download\?/.test(url!) && response.statusCode! < 300
      if (!download) return void response.pipe(answer)
      self.ranges.push(headers.range ?? '')
      let left = self.most
      response.on('data', (part: Buffer) => {
        answer.write(part.subarray(0, left))
        left -= part.length
        if (left > 0) return
        response.destroy()
        // Flush before the connection is cut or stalls.
        if (self.most < Infinity) answer.write('', () => answer.destroy())
      })
      response.on('end', () => answer.end())
    })
    asked.pipe(onward)
  }).listen(0, '127.0.0.1')
  await once(way, 'listening')
  const self = {
    origin: `http://127.0.0.1:${(way.address() as AddressInfo).port}`,
    ranges: [] as string[],
    most: Infinity,
    async [Symbol.asyncDispose]() {
      way.close()
      way.closeAllConnections()
      await once(way, 'close')
    },
  }
  return self
}

test('a download resumes after a disconnect and after a kill, and starts over if the bytes changed', async () => {
  await using server = await testServer()
  await using way = await narrowWay(server.origin)
  const alice = await server.person('Alice')
  const { key } = await alice.key()
  const home = await mkdtemp(join(tmpdir(), 'uk-download-'))
  try {
    const bytes = randomBytes(3 << 20)
    const file = (await upload(alice, { workspace_id: alice.workspaceId }, bytes, 'large.bin')).body.data.id as string
    const env = { PATH: process.env.PATH!, HOME: home, UK_KEY: key, UK_ORIGIN: way.origin }
    const output = join(home, 'here.bin')
    const started = (): ChildProcessWithoutNullStreams =>
      spawn(program, ['drive', 'download', file, '-o', output], { env })
    const parts = async (): Promise<string[]> => (await readdir(home)).filter((name) => name.endsWith('.part'))

    // Cut after every megabyte.
    way.most = 1 << 20
    const cut = await ranBy(started())
    assert.equal(cut.code, 0, cut.err)
    assert.deepEqual(await readFile(output), bytes)
    assert.ok(way.ranges.length >= 3, way.ranges.join())
    assert.ok(
      way.ranges.slice(1).every((range) => /^bytes=\d+-$/.test(range)),
      way.ranges.join(),
    )
    assert.deepEqual(await parts(), [])

    // Killed midway: the existing file stays until the new one is complete.
    await writeFile(output, 'before')
    const killed = started()
    await until(parts, (names) => names.length === 1)
    const [part = ''] = await parts()
    await until(
      async () => (await stat(join(home, part))).size,
      (size) => size > 100_000,
    )
    killed.kill('SIGKILL')
    await once(killed, 'close')
    assert.equal(await readFile(output, 'utf8'), 'before')
    way.most = Infinity
    const begun = way.ranges.length
    const again = await ranBy(started())
    assert.equal(again.code, 0, again.err)
    assert.match(again.err, /^Resuming .*here\.bin at byte \d{6,}\./)
    assert.match(way.ranges[begun]!, /^bytes=\d{6,}-$/)
    assert.deepEqual(await readFile(output), bytes)

    // Killed again, and the file has changed since.
    way.most = 1 << 20
    const third = started()
    await until(parts, (names) => names.length === 1)
    await until(
      async () => (await stat(join(home, (await parts())[0]!))).size,
      (size) => size > 100_000,
    )
    third.kill('SIGKILL')
    await once(third, 'close')
    way.most = Infinity
    const others = randomBytes(2 << 20)
    await upload(alice, { workspace_id: alice.workspaceId, on_conflict: 'version' }, others, 'large.bin')
    assert.equal((await ranBy(started())).code, 0)
    assert.deepEqual(await readFile(output), others)
    // Devices are written directly.
    const thrown = spawn(program, ['drive', 'download', file, '-o', '/dev/null'], { env })
    assert.equal((await ranBy(thrown)).code, 0)
    assert.ok((await stat('/dev/null')).isCharacterDevice())
    const gone = spawn(program, ['drive', 'download', '01KAJ8R3T2M6QK5W9V0XBZC4DE', '-o', join(home, 'x')], {
      env,
      stdio: 'pipe',
    })
    assert.notEqual((await ranBy(gone)).code, 0)
    assert.deepEqual(await parts(), [], 'what never began leaves nothing')
  } finally {
    await rm(home, { recursive: true, force: true })
  }
})

test('a download from a computer resumes after disconnects and kills, starts over if the file changed, and never writes through a planted link', async () => {
  const { server, alice } = await serverWithAlice()
  await using way = await narrowWay(server.origin)
  const box = await machineOf(server, alice)
  const { key } = await alice.key()
  const home = await mkdtemp(join(tmpdir(), 'uk-download-'))
  try {
    const there = join(home, 'there.bin')
    const bytes = randomBytes(3 << 20)
    await writeFile(there, bytes)
    const folder = join(home, 'here')
    await mkdir(folder)
    const env = { PATH: process.env.PATH!, HOME: home, UK_KEY: key, UK_ORIGIN: way.origin }
    const output = join(folder, 'here.bin')
    const started = (): ChildProcessWithoutNullStreams =>
      spawn(program, ['computers', 'download', box.id, '--path', there, '-o', output], { env })
    const parts = async (): Promise<string[]> => (await readdir(folder)).filter((name) => name.endsWith('.part'))
    /** Starts, is killed midway, and returns the name of the part. */
    const killed = async (): Promise<string> => {
      way.most = 1 << 20
      const child = started()
      const size = async () => (await stat(join(folder, (await parts())[0] ?? ''))).size
      await until(
        async () => ((await parts()).length === 1 ? size().catch(() => 0) : 0),
        (came) => came > 100_000,
      )
      child.kill('SIGKILL')
      await once(child, 'close')
      way.most = Infinity
      return join(folder, (await parts())[0]!)
    }

    way.most = 1 << 20
    const cut = await ranBy(started())
    assert.equal(cut.code, 0, cut.err)
    assert.deepEqual(await readFile(output), bytes)
    assert.ok(
      way.ranges.length >= 3 && way.ranges.slice(1).every((range) => /^bytes=\d{6,}-$/.test(range)),
      way.ranges.join(),
    )

    // The computer has reconnected in between.
    await killed()
    await box.restart()
    assert.ok(await server.app.engine.links.online(box.id, PATIENCE_MS))
    const begun = way.ranges.length
    const again = await ranBy(started())
    assert.equal(again.code, 0, again.err)
    assert.match(way.ranges[begun]!, /^bytes=\d{6,}-$/)
    assert.deepEqual(await readFile(output), bytes)

    // The file changed meanwhile, so the part is useless.
    const part = await killed()
    const others = randomBytes(2 << 20)
    await writeFile(there, others)
    const changed = await ranBy(started())
    assert.equal(changed.code, 0, changed.err)
    assert.deepEqual(await readFile(output), others)

    // Another user has planted a link under the part's name.
    const victim = join(home, 'victim')
    for (const plant of [symlink, link]) {
      await writeFile(victim, 'mine')
      await plant(victim, part)
      const ran = await ranBy(started())
      assert.equal(ran.code, 0, ran.err)
      assert.equal(await readFile(victim, 'utf8'), 'mine')
      assert.deepEqual(await readFile(output), others)
      assert.ok((await stat(output)).nlink === 1)
    }
    assert.deepEqual(await parts(), [])
  } finally {
    await rm(home, { recursive: true, force: true })
  }
})
