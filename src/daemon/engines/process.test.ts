import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { takeLock } from '../lock.ts'
import { EngineProcess, sweepRooms } from './process.ts'
import { ModelStore } from './store.ts'

/** Creates a folder and a function that creates engines in it. */
async function place() {
  const folder = await mkdtemp(join(tmpdir(), 'uk-place-'))
  return {
    folder,
    async room(name: string, holder: string | null) {
      await mkdir(join(folder, name), { mode: 0o700 })
      if (holder !== null) await writeFile(join(folder, name, 'holder'), holder)
      return join(folder, name)
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}

test('an engine whose program is missing rejects calls with the reason, and the daemon keeps running', async () => {
  await using engine = new EngineProcess({ label: 'llama.cpp', program: ['/no/such/node'], words: async () => [] })
  const refused = { code: 'engine_not_ready', message: /^llama\.cpp didn’t start: .*ENOENT/ }
  await assert.rejects(engine.start(), refused)
  assert.equal(engine.status, 'failed')
  await assert.rejects(engine.start(), refused, 'it is tried again')
})

test('an engine killed between two calls answers the next one, at any moment', async () => {
  const answers = `require('node:http').createServer((_, out) => out.end(String(process.pid)))
    .listen(process.argv[1], () => console.log('{"ready":true}'))`
  const program = [process.execPath, '-e', answers]
  await using engine = new EngineProcess({ label: 'llama.cpp', program, words: async (socket) => [socket] })
  const pid = async () => Number((await (await engine.ask('/', {}, Buffer.from('{}'), null)).toArray()).join(''))
  let before = await pid()
  for (let round = 0; round < 6; round++) {
    process.kill(before, 'SIGKILL')
    for (let turn = 0; turn < round; turn++) await new Promise((resolve) => setImmediate(resolve))
    const now = await pid()
    assert.notEqual(now, before)
    before = now
  }
  // Reading the status starts nothing.
  process.kill(before, 'SIGKILL')
  await assert.rejects(engine.ask('/', {}, null, null), { code: 'engine_not_ready' })
  while (engine.status !== 'failed') await new Promise((resolve) => setImmediate(resolve))
})

test('a starting daemon removes the engine folders of killed daemons and no others', async () => {
  await using here = await place()
  await using elsewhere = await place()
  const dead = await here.room('uk-engine-dead', '999999999 1')
  const begun = await here.room('uk-engine-begun', null)
  const other = await here.room('other-dead', '999999999 1')
  const living = await here.room('uk-engine-living', null)
  using _held = takeLock(join(living, 'holder'))
  const outside = await elsewhere.room('uk-engine-far', '999999999 1')
  await symlink(outside, join(here.folder, 'uk-engine-link'))
  await symlink(elsewhere.folder, join(dead, 'link'))
  await sweepRooms(here.folder)
  assert.deepEqual(
    [dead, begun, other, living, outside].map((room) => existsSync(room)),
    [false, true, true, true, true],
  )
})

test('remains of installations are deleted after a week, and a model called x.part keeps its files', async () => {
  await using here = await place()
  const mark = '0123456789ab'
  const kept = ['x.part.gguf', 'x.part.json', `y.${mark}.part.gguf`, `y.${mark}.part.json`, 'z.part']
  const left = [`y.${mark}.part`, `w.${mark}.part`, `w.${mark}.part.json`, 'v.speech.part']
  for (const name of [...kept, ...left]) await writeFile(join(here.folder, name), '')
  const store = new ModelStore(here.folder)
  const clock = { boot: 'one', ms: 0 }
  await store.sweep(clock)
  await store.sweep({ ...clock, ms: 8 * 86_400_000 })
  for (const name of kept) assert.ok(existsSync(join(here.folder, name)), name)
  for (const name of left) assert.ok(!existsSync(join(here.folder, name)), name)
})
