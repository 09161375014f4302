// Slow: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { test } from 'node:test'
import { type TestDatabase, testDatabase } from '#test/database.ts'
import { ended } from '#test/operations/ended.ts'
import { endless, worksService } from '#test/operations/works.ts'
import { caller, testServer } from '#test/server.ts'

/** A server in its own process, with two running operations. */
async function serverElsewhere({ connection, dataDir }: TestDatabase) {
  const child = spawn(
    process.execPath,
    [join(import.meta.dirname, '../../../test/operations/child.ts'), JSON.stringify(connection), dataDir],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  return { child, ...(JSON.parse(line.toString()) as { ids: string[]; headers: Record<string, string> }) }
}

test('an operation whose process hangs ends when it is canceled, and stays so when the process continues', async (t) => {
  const database = await testDatabase()
  t.after(() => database[Symbol.asyncDispose]())
  const { child, ids, headers } = await serverElsewhere(database)
  const kinds = endless(() => {})
  await using other = await testServer({ database, operations: kinds, services: [worksService(kinds)] })
  const person = caller(other.origin, headers)
  child.kill('SIGSTOP')
  try {
    assert.equal((await person.post(`/operations/${ids[0]}/cancel`)).status, 200)
    assert.equal((await ended(person, ids[0]!)).status, 'cancelled')
    child.kill('SIGCONT')
    // The continued process ends the second operation, and the first stays canceled.
    await person.post(`/operations/${ids[1]}/cancel`)
    assert.equal((await ended(person, ids[1]!)).status, 'cancelled')
    assert.equal((await person.get(`/operations/${ids[0]}`)).body.data.status, 'cancelled')
  } finally {
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
})

test('after its process is killed, a repeatable operation runs again, and any other fails as interrupted', async (t) => {
  const database = await testDatabase()
  t.after(() => database[Symbol.asyncDispose]())
  const { child, ids, headers } = await serverElsewhere(database)
  child.kill('SIGKILL')
  await once(child, 'exit')

  const firstStart = Promise.withResolvers<string>()
  const again = endless(firstStart.resolve)
  await using restartedServer = await testServer({ database, operations: again, services: [worksService(again)] })
  const person = caller(restartedServer.origin, headers)
  assert.equal(await firstStart.promise, 'works.again')
  const once_ = await ended(person, ids[1]!)
  assert.deepEqual([once_.status, once_.error.code], ['failed', 'interrupted'])
  assert.equal((await person.get(`/operations/${ids[0]}`)).body.data.status, 'running')
  await person.post(`/operations/${ids[0]}/cancel`)
  assert.equal((await ended(person, ids[0]!)).status, 'cancelled')
})
