import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { pairedComputer, teamOf } from '#test/makers.ts'
import { type Caller, testServer } from '#test/server.ts'
import { newId } from '#core/ids.ts'
import { CAPABILITIES } from '#core/scopes.ts'
import { localInference } from '../contract-local-inference.ts'

const server = await testServer()
after(() => server[Symbol.asyncDispose]())
const alice = await server.person('Alice')
const bob = await server.person('Bob')
const vera = await server.person('Vera')
const team = await teamOf(alice, [
  [bob, 'member'],
  [vera, 'viewer'],
])

const bodies: Partial<Record<keyof typeof localInference, object>> = {
  local_inference: { action: 'status' },
  install_local_model: { name: 'm', source: { url: 'https://models.example/m.gguf' } },
  map_local_model: { model: null },
  cancel_local_operation: {},
}
const names = Object.keys(localInference) as (keyof typeof localInference)[]
const looks = names.filter((name) => localInference[name].method === 'GET')

async function ask(who: Caller, id: string, name: keyof typeof localInference): Promise<string> {
  const { method, path } = localInference[name]
  const place = path.replace(':id', id).replace(/:\w+/g, newId())
  const { status, body } = await who.request(method, place, bodies[name])
  return `${status} ${body.error?.code ?? body.error?.type ?? ''}`.trim()
}

test('every route is refused without the grant, even with all other grants', async () => {
  const { id } = await pairedComputer(alice)
  const others = CAPABILITIES.filter((one) => one !== 'inference')
  await alice.post(`/computers/${id}/exposures`, { workspace_id: team, capabilities: others })
  for (const name of names) {
    const { access } = localInference[name]
    const forAdmins = access.kind === 'resource' && access.role !== undefined
    assert.equal(await ask(bob, id, name), forAdmins ? '403 insufficient_role' : '403 capability_denied', name)
  }
  await alice.patch(`/computers/${id}/exposures/${team}`, { capabilities: ['inference'] })
  for (const name of looks) assert.equal(await ask(bob, id, name), '200', name)
  for (const name of names) assert.equal(await ask(vera, id, name), '403 insufficient_role', name)
})

test('a machine that does not allow inference refuses its owner', async () => {
  const { id } = await pairedComputer(alice, { allows: ['exec', 'fs_read'] })
  for (const name of names) assert.equal(await ask(alice, id, name), '403 capability_denied', name)
})

test('reading needs only the scope computer:read', async () => {
  const { id } = await pairedComputer(alice)
  await alice.post(`/computers/${id}/exposures`, { workspace_id: team, capabilities: ['inference'] })
  const reads = await bob.key({ scopes: ['computer:read'] })
  for (const name of names)
    assert.equal(await ask(reads, id, name), looks.includes(name) ? '200' : '403 missing_scope', name)
})
