import assert from 'node:assert/strict'
import { test } from 'node:test'
import { linkUp } from '#test/link/daemon.ts'
import { pairedComputer } from '#test/makers.ts'
import { testServer } from '#test/server.ts'
import { until } from '#test/until.ts'

const tiny = {
  name: 'tiny',
  engine: 'llama',
  size_bytes: 1,
  digest: null,
  context_length: 4096,
  quantization: null,
  status: 'ready',
  loaded: false,
  embeds: false,
}
const engineRow = (status: string) => ({ name: 'llama', status, version: null, reason: null })

test('earlier state of a daemon that arrives late doesn’t replace newer state', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const { id, credential } = await pairedComputer(alice, { name: 'box' })
  let models: object[] = [tiny]
  let status = 'running'
  /** Each question, answered as things stood when it came, once it is let go. */
  const held: { op: string; release(): void }[] = []
  let holds = false
  using _link = await linkUp(server.origin, credential, async ({ op }) => {
    if (op === 'engine.remove') models = []
    const answer =
      op === 'engine.models'
        ? { models }
        : { engine: 'llama', engines: [engineRow(status)], loaded: [], gpu: null, memory_bytes: null }
    if (holds) await new Promise<void>((release) => held.push({ op, release }))
    return answer
  })
  const at = `/computers/${id}/local-inference`
  const shown = async () => [
    (await alice.get(`/computers/${id}`)).body.data.engine,
    (await alice.get(`${at}/models`)).body.data.map(({ name }: { name: string }) => name),
  ]
  const told = () => alice.post(at, { action: 'status' })
  await until(shown, ([engine, names]) => engine === 'ready' && names.length === 1)

  // Asked while there is nothing: both answers are on their way.
  models = []
  status = 'installing'
  holds = true
  const early = [told(), alice.get(`${at}/models`)]
  await until(
    async () => held.length,
    (count) => count === 2,
  )
  holds = false
  models = [tiny]
  status = 'running'
  assert.equal((await told()).status, 200)
  assert.deepEqual(await shown(), ['ready', ['tiny']])
  for (const { release } of held) release()
  for (const { status: code } of await Promise.all(early)) assert.equal(code, 200)
  const kept = async () =>
    (await server.app.engine.postgres.db.selectFrom('local_models').select('name').execute()).length
  assert.deepEqual([(await alice.get(`/computers/${id}`)).body.data.engine, await kept()], ['ready', 1])

  // A list with the model in it is on its way while the model is removed.
  held.length = 0
  holds = true
  const listed = alice.get(`${at}/models`)
  await until(
    async () => held.length,
    (count) => count === 1,
  )
  holds = false
  const { rows } = await server.app.engine.postgres.pool.query('select id from local_models')
  assert.equal((await alice.delete(`${at}/models/${rows[0].id}`)).status, 200)
  held[0]!.release()
  assert.deepEqual([(await listed).body.data, await kept()], [[], 0])
})
