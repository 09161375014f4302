import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { bringEngine, daemonProcess, slowNpm } from '#test/local-inference/daemon.ts'
import { temporaryDir } from '#test/program.ts'
import { testServer } from '#test/server.ts'
import { until } from '#test/until.ts'

test('starting a missing engine installs it, and the installation can be canceled', async () => {
  await bringEngine()
  await using server = await testServer()
  const alice = await server.person('Alice')
  using room = temporaryDir()
  const bin = join(room.path, 'bin')
  mkdirSync(bin)
  const environment = { PATH: slowNpm(bin, 3) }
  const words = ['--engine-folder', join(room.path, 'fresh')]
  await using second = await daemonProcess(server.origin, alice, { name: 'Second', words, environment })
  const waitForEnd = async ({ id }: { id: string }) =>
    (
      await until(
        () => alice.get(`/operations/${id}/await?timeout_seconds=5`),
        ({ body }) => !['queued', 'running'].includes(body.data.status),
      )
    ).body.data
  const at = `/computers/${second.id}/local-inference`
  const response = await alice.post(at, { action: 'start' })
  assert.equal(response.status, 202, response.text)
  const same = await alice.post(at, { action: 'start' })
  assert.equal(same.body.data.id, response.body.data.id)
  await until(
    () => alice.get(`${at}/operations`),
    ({ body }) => body.data[0].phase === 'downloading',
  )
  await alice.post(`${at}/operations/${response.body.data.id}/cancel`)
  assert.equal((await waitForEnd(response.body.data)).status, 'cancelled')
  await until(
    () => alice.get(`/computers/${second.id}`),
    ({ body }) => body.data.engine === 'absent',
  )
  // The machine may need a moment to leave the first installation.
  const result = await until(
    async () => waitForEnd((await alice.post(at, { action: 'start' })).body.data),
    ({ error }) => error?.code !== 'already_exists',
  )
  assert.deepEqual([result.status, result.result], ['succeeded', { engine: 'llama' }], JSON.stringify(result.error))
  assert.equal((await alice.get(`/computers/${second.id}`)).body.data.engine, 'ready')
  assert.equal((await alice.post(at, { action: 'stop' })).body.data.engines[0].status, 'stopped')
})
