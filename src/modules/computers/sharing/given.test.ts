import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Linked, linkUp } from '#test/link/daemon.ts'
import type { Answerer } from '#test/link/pair.ts'
import { pairedComputer, teamOf } from '#test/makers.ts'
import { type Caller, type Person, type TestServer, testServer } from '#test/server.ts'
import { until } from '#test/until.ts'

let server: TestServer
let alice: Person
let bob: Person
let mallory: Person
/** Alice's, with Bob and Mallory as members. */
let team: string
const stack = new AsyncDisposableStack()

before(async () => {
  server = stack.use(await testServer())
  alice = await server.person('Alice')
  bob = await server.person('Bob')
  mallory = await server.person('Mallory')
  team = await teamOf(alice, [
    [bob, 'member'],
    [mallory, 'member'],
  ])
})
after(() => stack.disposeAsync())

const DIGEST = `sha256:${'ab'.repeat(32)}`
const model = { engine: 'llama', size_bytes: 1, context_length: 4096, quantization: null, loaded: false, embeds: false }

/** A machine that claims to have this model and replies with its own name. */
const daemonOf =
  (name: string, digest: string | null): Answerer =>
  async ({ op }, stream) => {
    if (op === 'engine.models') return { models: [{ ...model, name: 'tiny', digest, status: 'ready' }] }
    if (op === 'engine.control') return { engine: 'llama', engines: [], loaded: [], gpu: null, memory_bytes: null }
    for await (const item of stream) if (item.type === 'finished') break
    const message = { role: 'assistant', content: name }
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
    const whole = {
      id: 'x',
      object: 'chat.completion',
      created: 1,
      model: 'tiny',
      choices: [{ index: 0, message, finish_reason: 'stop' }],
      usage,
    }
    stream.event({ type: 'head', status: 200, content_type: 'application/json' })
    await stream.write(Buffer.from(JSON.stringify(whole)))
    return {}
  }

interface Box extends Linked {
  id: string
  modelId: string
}
async function box(person: Person, name: string, digest: string | null = null, workspace_id?: string): Promise<Box> {
  const { id, credential } = await pairedComputer(person, { name, workspace_id })
  const linked = stack.use(await linkUp(server.origin, credential, daemonOf(name, digest)))
  const { body } = await until(
    () => person.get(`/computers/${id}/local-inference/models`),
    ({ body }) => body.data?.length === 1,
  )
  return { ...linked, id, modelId: body.data[0].id }
}
const map = async (who: Caller, { id, modelId }: Box, slug: string | null) => {
  const { status, body } = await who.patch(`/computers/${id}/local-inference/models/${modelId}/mapping`, {
    model: slug,
  })
  return [status, body.error ? (body.error.code ?? body.error.type) : body.data.mapping]
}
/** The machine that answers a call of this model, or the error status. */
async function answers(who: Caller, name: string): Promise<string | number> {
  const messages = [{ role: 'user', content: 'a secret' }]
  const { status, body } = await who.post('/inference/text', { model: name, messages, max_output_tokens: 5 })
  return status === 200 ? body.data.text : status
}

test('a transferred computer serves no mapped model until its new owner maps it', async () => {
  const trap = await box(mallory, 'Trap')
  assert.deepEqual(await map(mallory, trap, 'openai/gpt-5-mini'), [200, 'openai/gpt-5-mini'])
  assert.equal(await answers(mallory, 'openai/gpt-5-mini'), 'Trap')
  assert.equal((await mallory.post(`/computers/${trap.id}/transfer`, { user_id: bob.id })).status, 200)
  assert.equal(await answers(bob, 'openai/gpt-5-mini'), 404)
  assert.equal(await answers(mallory, 'openai/gpt-5-mini'), 404)
  // The former owner tries again.
  assert.deepEqual(await map(mallory, trap, 'openai/gpt-5-mini'), [404, 'not_found'])
  const { data } = (await bob.get(`/computers/${trap.id}/local-inference/models`)).body
  assert.deepEqual(
    data.map((one: { name: string; mapping: string | null }) => [one.name, one.mapping]),
    [['tiny', null]],
  )
  const auditEntries = (await bob.get(`/audit?subject_id=${trap.id}`)).body.data
  const { details } = auditEntries.find(({ action }: { action: string }) => action === 'computer.transferred')
  assert.deepEqual(details.unmapped, ['tiny'])
  assert.deepEqual(await map(bob, trap, 'openai/gpt-5-mini'), [200, 'openai/gpt-5-mini'])
  assert.equal(await answers(bob, 'openai/gpt-5-mini'), 'Trap')
})

test('in a workspace, only admins map models, as they add providers', async () => {
  const teamComputer = await box(mallory, 'Paired', null, team)
  const gift = await box(mallory, 'Given')
  assert.deepEqual(await map(mallory, gift, 'openai/gpt-5'), [200, 'openai/gpt-5'])
  assert.equal((await mallory.post(`/computers/${gift.id}/transfer`, { workspace_id: team })).status, 200)
  const bobs = await bob.key({ workspace_id: team })
  assert.equal(await answers(bobs, 'openai/gpt-5'), 404)
  const dave = await server.person('Dave')
  const elsewhere = await alice.key({ workspace_id: alice.workspaceId })
  for (const one of [teamComputer, gift]) {
    assert.deepEqual(await map(mallory, one, 'openai/gpt-5'), [403, 'insufficient_role'])
    assert.deepEqual(await map(dave, one, 'openai/gpt-5'), [404, 'not_found'])
    assert.deepEqual(await map(elsewhere, one, 'openai/gpt-5'), [404, 'not_found'])
  }
  assert.deepEqual(await map(alice, teamComputer, 'openai/gpt-5'), [200, 'openai/gpt-5'])
  assert.equal(await answers(bobs, 'openai/gpt-5'), 'Paired')
  assert.deepEqual(await map(alice, teamComputer, null), [200, null])
})

test('another user’s computer can’t take over the name of your local model', async () => {
  await box(alice, 'Own', DIGEST)
  const lentComputer = await box(mallory, 'Lent', DIGEST)
  await mallory.post(`/computers/${lentComputer.id}/exposures`, { workspace_id: team, capabilities: ['inference'] })
  const gift = await box(mallory, 'Gift', DIGEST)
  await mallory.post(`/computers/${gift.id}/transfer`, { user_id: alice.id })
  assert.equal(await answers(alice, 'local/gift/tiny'), 'Gift', 'by its own name it answers')
  for (let i = 0; i < 8; i++) assert.equal(await answers(alice, 'local/tiny'), 'Own')
})

test('models of different lenders with the same name must be called by computer', async () => {
  const erin = await server.person('Erin')
  const dora = await server.person('Dora')
  const guild = await teamOf(alice, [
    [bob, 'member'],
    [mallory, 'member'],
    [erin, 'member'],
    [dora, 'member'],
  ])
  const lend = async (person: Person, { id }: Box) =>
    assert.equal(
      (await person.post(`/computers/${id}/exposures`, { workspace_id: guild, capabilities: ['inference'] })).status,
      201,
    )
  const [mill, forge] = [await box(erin, 'Mill', DIGEST), await box(erin, 'Forge', DIGEST)]
  await lend(erin, mill)
  await lend(erin, forge)
  const doras = await dora.key({ workspace_id: guild })
  const responders = new Set<string | number>()
  // One lender's machines share a model.
  for (let i = 0; i < 20 && responders.size < 2; i++) responders.add(await answers(doras, 'local/tiny'))
  assert.deepEqual([...responders].toSorted(), ['Forge', 'Mill'])
  assert.deepEqual(await map(erin, mill, 'openai/gpt-5-nano'), [200, 'openai/gpt-5-nano'])
  assert.equal(await answers(doras, 'openai/gpt-5-nano'), 'Mill')

  // Another user lends a machine with the same name, digest and mapping.
  const decoy = await box(mallory, 'Decoy', DIGEST)
  await lend(mallory, decoy)
  assert.deepEqual(await map(mallory, decoy, 'openai/gpt-5-nano'), [200, 'openai/gpt-5-nano'])
  const messages = [{ role: 'user', content: 'a secret' }]
  for (const [name, choice] of [
    ['local/tiny', /`local\/decoy\/tiny`.*`local\/forge\/tiny`|`local\/forge\/tiny`.*`local\/decoy\/tiny`/],
    ['openai/gpt-5-nano', /`local\/(decoy|mill)\/tiny`, `local\/(decoy|mill)\/tiny`/],
  ] as const) {
    const { body } = await until(
      () => doras.post('/inference/text', { model: name, messages, max_output_tokens: 5 }),
      ({ status }) => status === 404,
    )
    assert.match(body.error.message, choice)
  }
  assert.equal(await answers(doras, 'local/mill/tiny'), 'Mill')
  // The name refers to the same model.
  for (let i = 0; i < 8; i++) assert.notEqual(await answers(erin, 'local/tiny'), 'Decoy')
})

test('machines of two workspaces don’t form one model', async () => {
  const [fay, gwen] = [await server.person('Fay'), await server.person('Gwen')]
  const loom = await box(gwen, 'Loom', DIGEST, await teamOf(gwen, [[fay, 'member']]))
  assert.equal(await answers(fay, 'local/tiny'), 'Loom')
  await box(mallory, 'Snare', DIGEST, await teamOf(mallory, [[fay, 'member']]))
  assert.equal(await answers(fay, 'local/tiny'), 404)
  assert.equal(await answers(fay, 'local/loom/tiny'), 'Loom')
  // Within the workspace, the name works.
  const { owner } = (await gwen.get(`/computers/${loom.id}`)).body.data
  const workspaceKey = await fay.key({ workspace_id: owner.id })
  for (let i = 0; i < 8; i++) assert.equal(await answers(workspaceKey, 'local/tiny'), 'Loom')
})
