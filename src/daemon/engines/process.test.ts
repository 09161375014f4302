import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EngineProcess } from './process.ts'

test('an engine whose program is not there any more refuses calls and says why, and the daemon goes on', async () => {
  await using engine = new EngineProcess({ label: 'llama.cpp', program: ['/no/such/node'], words: async () => [] })
  const refused = { code: 'engine_not_ready', message: /^llama\.cpp did not start: .*ENOENT/ }
  await assert.rejects(engine.start(), refused)
  assert.equal(engine.status, 'failed')
  await assert.rejects(engine.start(), refused, 'it is tried again')
})

test('an engine that is killed between two calls answers the next one, at whichever moment it comes', async () => {
  const answers = `require('node:http').createServer((_, out) => out.end(String(process.pid)))
    .listen(process.argv[1], () => console.log('{"ready":true}'))`
  const program = [process.execPath, '-e', answers]
  await using engine = new EngineProcess({ label: 'llama.cpp', program, words: async (socket) => [socket] })
  const pid = async () => Number((await (await engine.ask('/', {}, null, null)).toArray()).join(''))
  let before = await pid()
  for (let round = 0; round < 6; round++) {
    process.kill(before, 'SIGKILL')
    for (let turn = 0; turn < round; turn++) await new Promise((resolve) => setImmediate(resolve))
    const now = await pid()
    assert.notEqual(now, before)
    before = now
  }
})
