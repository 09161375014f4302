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
