import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { extract } from 'tar-stream'
import { daemonHome, runDaemonAt } from '#test/link/run-daemon.ts'
import { pairedComputer, teamOf } from '#test/makers.ts'
import { temporaryDir } from '#test/program.ts'
import { testServer } from '#test/server.ts'
import { PATIENCE_MS } from '#test/until.ts'

const stack = new AsyncDisposableStack()
after(() => stack.disposeAsync())
const server = stack.use(await testServer())
const alice = await server.person('Alice')
const bob = await server.person('Bob')

test('file access doesn’t expose the daemon’s credential or change what it allows', async () => {
  const home = stack.use(daemonHome())
  const room = stack.use(temporaryDir())
  const program = join(room.path, 'program')
  mkdirSync(join(program, 'versions'), { recursive: true })
  writeFileSync(join(program, 'uk'), 'program')
  const pairing = await pairedComputer(alice)
  const { id } = pairing
  const own = { place: program, release: 'a'.repeat(64) }
  stack.use(await runDaemonAt(home, server.origin, pairing, { own, updates: false }))
  assert.ok(await server.app.engine.links.online(id, PATIENCE_MS))
  const team = await teamOf(alice, [[bob, 'member']])
  await alice.post(`/computers/${id}/exposures`, { workspace_id: team, capabilities: ['fs_read', 'fs_write'] })

  const state = join(home.folder, 'computer.json')
  const before = readFileSync(state, 'utf8')
  assert.ok(before.includes(pairing.credential))
  symlinkSync(home.folder, join(room.path, 'folder'))
  symlinkSync(state, join(room.path, 'file'))
  const code = ({ status, body }: { status: number; body: any }) => [status, body?.error?.code]
  const denied = [403, 'capability_denied']
  const fs = async (op: string, path: string, more = {}) =>
    code(await bob.post(`/computers/${id}/fs`, { op, path, ...more }))
  for (const path of [
    state,
    join(room.path, 'file'),
    join(room.path, 'folder/computer.json'),
    `/proc/self/root${state}`,
    join(program, 'uk'),
  ])
    for (const who of [alice, bob])
      assert.deepEqual(
        code(await who.get(`/computers/${id}/fs/download?path=${encodeURIComponent(path)}`)),
        denied,
        path,
      )
  const raw = { 'content-type': 'application/octet-stream' }
  for (const path of [state, join(home.folder, 'new'), join(program, 'uk'), join(room.path, 'folder/computer.json')])
    assert.deepEqual(
      code(
        await bob.request(
          'POST',
          `/computers/${id}/fs/upload?overwrite=true&path=${encodeURIComponent(path)}`,
          Buffer.from('x'),
          raw,
        ),
      ),
      denied,
      path,
    )
  for (const path of [home.folder, join(home.folder, 'keeper'), state, program, join(home.folder, 'not/there')]) {
    assert.deepEqual(await fs('remove', path, { recursive: true }), denied, path)
    assert.deepEqual(await fs('stat', path), denied, path)
  }
  assert.deepEqual(await fs('list', home.folder), denied)
  assert.deepEqual(await fs('mkdir', join(home.folder, 'a/b'), { parents: true }), denied)
  assert.deepEqual(await fs('remove', room.path, { recursive: true }), denied)
  assert.equal(readFileSync(state, 'utf8'), before)
  assert.equal(readFileSync(join(program, 'uk'), 'utf8'), 'program')

  // Archives of a parent folder leave the state out.
  mkdirSync(join(room.path, 'beside'), { recursive: true })
  writeFileSync(join(room.path, 'beside/notes'), 'notes')
  const { origin } = server
  const answer = await fetch(
    `${origin}/v1/computers/${id}/fs/download?archive=tar&path=${encodeURIComponent(room.path)}`,
    { headers: bob.headers },
  )
  assert.equal(answer.status, 200)
  const names: string[] = []
  const reader = extract()
  reader.end(Buffer.from(await answer.arrayBuffer()))
  for await (const entry of reader) {
    names.push(entry.header.name)
    entry.resume()
  }
  assert.ok(
    names.some((name) => name.endsWith('beside/notes')),
    names.join(),
  )
  assert.ok(!names.some((name) => name.includes('program')), names.join())
})
