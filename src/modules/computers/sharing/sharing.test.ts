import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readEvents } from '#test/events.ts'
import { peopleAround, serverWithAlice } from '#test/computers/world.ts'
import { pairedComputer, teamOf } from '#test/makers.ts'
import { type Person } from '#test/server.ts'
import { until } from '#test/until.ts'
import { findEndedLinks, findMachine } from '../pairing/credentials.ts'

const { server, alice } = await serverWithAlice()
const { bob, carol, vera, team } = await peopleAround(server, alice)

const code = ({ status, body }: { status: number; body: { error?: { code?: string } } }) => [status, body.error?.code]
const ids = ({ body }: { body: { data: { id: string }[] } }) => body.data.map(({ id }) => id)
const expose = (id: string, capabilities: string[], workspace_id = team) =>
  alice.post(`/computers/${id}/exposures`, { workspace_id, capabilities })

test('exposing a computer: members get the capabilities, viewers see it, strangers don’t', async () => {
  const { id } = await pairedComputer(alice)
  assert.equal((await bob.get(`/computers/${id}`)).status, 404)
  const response = await expose(id, ['terminal', 'exec', 'exec'])
  assert.equal(response.status, 201, response.text)
  assert.deepEqual(response.body.data.capabilities, ['exec', 'terminal'])
  assert.deepEqual(code(await expose(id, ['exec'])), [409, 'already_exists'])

  const { data: bobs } = (await bob.get(`/computers/${id}`)).body
  assert.deepEqual(bobs.my_capabilities, ['exec', 'terminal'])
  assert.deepEqual(bobs.owner, { type: 'account', id: alice.id })
  assert.deepEqual(
    bobs.exposures.map((one: { workspace_id: string }) => one.workspace_id),
    [team],
  )
  assert.deepEqual((await vera.get(`/computers/${id}`)).body.data.my_capabilities, [])
  assert.deepEqual(code(await carol.get(`/computers/${id}`)), [404, undefined])
  const { data: alices } = (await alice.get(`/computers/${id}`)).body
  assert.equal(alices.my_capabilities.length, 7)

  // Lists follow the same rule.
  assert.ok(ids(await bob.get('/computers')).includes(id))
  assert.ok(ids(await bob.get(`/computers?workspace_id=${team}`)).includes(id))
  assert.deepEqual(ids(await bob.get('/computers?owner=me')), [])
  assert.deepEqual(ids(await carol.get('/computers')), [])
  assert.equal((await carol.get(`/computers?workspace_id=${team}`)).status, 404)
  assert.ok(ids(await alice.get('/computers?owner=me')).includes(id))

  // Use doesn't include management.
  for (const answer of [
    await bob.patch(`/computers/${id}`, { name: 'Mine' }),
    await bob.delete(`/computers/${id}`),
    await bob.delete(`/computers/${id}/exposures/${team}`),
    await bob.patch(`/computers/${id}/exposures/${team}`, { capabilities: ['users'] }),
    await bob.post(`/computers/${id}/transfer`, { user_id: bob.id }),
  ])
    assert.deepEqual(code(answer), [403, 'insufficient_role'], answer.text)

  await alice.patch(`/computers/${id}/exposures/${team}`, { capabilities: ['fs_read'] })
  assert.deepEqual((await bob.get(`/computers/${id}`)).body.data.my_capabilities, ['fs_read'])
  assert.deepEqual((await alice.delete(`/computers/${id}/exposures/${team}`)).body, { deleted: true, id: team })
  assert.equal((await bob.get(`/computers/${id}`)).status, 404)
  assert.equal((await alice.delete(`/computers/${id}/exposures/${team}`)).status, 404)
})

test('capabilities are limited by scopes and by what the machine allows', async () => {
  const { id } = await pairedComputer(alice, { allows: ['exec', 'fs_read'] })
  const of = async (scopes: string[]) =>
    (await (await alice.key({ scopes })).get(`/computers/${id}`)).body.data.my_capabilities
  assert.deepEqual(await of(['*']), ['exec', 'fs_read'])
  assert.deepEqual(await of(['computer:read']), ['fs_read'])
  assert.deepEqual(await of(['computer:read', 'computer:exec']), ['exec', 'fs_read'])
})

test('a workspace-limited key reaches only that workspace’s computers', async () => {
  const { id } = await pairedComputer(alice)
  const workspaceKey = await alice.key({ workspace_id: team })
  assert.equal((await workspaceKey.get(`/computers/${id}`)).status, 404)
  assert.deepEqual(ids(await workspaceKey.get('/computers?owner=me')), [])
  await expose(id, ['exec'])
  assert.deepEqual((await workspaceKey.get(`/computers/${id}`)).body.data.my_capabilities, ['exec'])
  assert.deepEqual(code(await workspaceKey.patch(`/computers/${id}`, { name: 'x' })), [403, 'insufficient_role'])
  const { id: other } = (await alice.post('/workspaces', { name: 'Other' })).body.data
  assert.equal((await (await alice.key({ workspace_id: other })).get(`/computers/${id}`)).status, 404)
})

test('removed or demoted members can’t use the workspace’s computers', async () => {
  const some = await teamOf(alice, [
    [bob, 'member'],
    [vera, 'member'],
  ])
  const { id } = await pairedComputer(alice)
  await expose(id, ['exec'], some)
  assert.deepEqual((await vera.get(`/computers/${id}`)).body.data.my_capabilities, ['exec'])
  await alice.patch(`/workspaces/${some}/members/${vera.id}`, { role: 'viewer' })
  assert.deepEqual((await vera.get(`/computers/${id}`)).body.data.my_capabilities, [])
  await alice.delete(`/workspaces/${some}/members/${bob.id}`)
  assert.equal((await bob.get(`/computers/${id}`)).status, 404)
})

test('workspace admins can remove an exposed computer but not expose others’ computers', async () => {
  const some = await teamOf(alice, [[carol, 'admin']])
  const { id } = await pairedComputer(alice)
  await expose(id, ['exec'], some)
  const { id: carols } = (await carol.post('/workspaces', { name: 'Hers' })).body.data
  const answer = await carol.post(`/computers/${id}/exposures`, { workspace_id: carols, capabilities: ['exec'] })
  assert.deepEqual(code(answer), [403, 'insufficient_role'])
  assert.equal((await carol.delete(`/computers/${id}/exposures/${some}`)).status, 200)
  assert.equal((await carol.get(`/computers/${id}`)).status, 404)
  const stranger = await alice.post(`/computers/${id}/exposures`, { workspace_id: carols, capabilities: ['exec'] })
  assert.deepEqual([stranger.status, stranger.body.error.param], [404, 'workspace_id'])
})

test('a workspace’s computer is used by members and managed by admins', async () => {
  const { id } = await pairedComputer(bob, { workspace_id: team })
  assert.deepEqual((await alice.get(`/computers/${id}`)).body.data.owner, { type: 'workspace', id: team })
  assert.equal((await bob.get(`/computers/${id}`)).body.data.my_capabilities.length, 7)
  assert.deepEqual((await vera.get(`/computers/${id}`)).body.data.my_capabilities, [])
  assert.deepEqual(code(await bob.patch(`/computers/${id}`, { name: 'x' })), [403, 'insufficient_role'])
  assert.equal((await alice.patch(`/computers/${id}`, { name: 'Runner' })).body.data.name, 'Runner')
  assert.deepEqual(ids(await alice.get('/computers?owner=me')).includes(id), false)
  assert.deepEqual(
    code(await alice.post(`/computers/${id}/exposures`, { workspace_id: team, capabilities: ['exec'] })),
    [400, 'invalid_parameter'],
  )
})

test('a transfer removes all exposures, and only the owner can transfer', async () => {
  const { id } = await pairedComputer(alice)
  await expose(id, ['exec'])
  assert.deepEqual(code(await alice.post(`/computers/${id}/transfer`, {})), [400, 'missing_parameter'])
  const both = { user_id: bob.id, workspace_id: team }
  assert.deepEqual(code(await alice.post(`/computers/${id}/transfer`, both)), [400, 'invalid_parameter'])
  const dave = await server.person('Dave')
  assert.equal((await alice.post(`/computers/${id}/transfer`, { user_id: dave.id })).status, 404)
  const response = await alice.post(`/computers/${id}/transfer`, { user_id: bob.id })
  assert.equal(response.status, 200, response.text)
  assert.deepEqual(
    [response.body.data.owner, response.body.data.my_capabilities],
    [{ type: 'account', id: bob.id }, []],
  )
  assert.equal((await alice.get(`/computers/${id}`)).status, 404)
  assert.equal((await vera.get(`/computers/${id}`)).status, 404)
  assert.deepEqual((await bob.get(`/computers/${id}`)).body.data.exposures, [])
  const back = await bob.post(`/computers/${id}/transfer`, { workspace_id: team })
  assert.deepEqual(back.body.data.owner, { type: 'workspace', id: team })
  assert.deepEqual(code(await bob.post(`/computers/${id}/transfer`, { user_id: bob.id })), [403, 'insufficient_role'])
})

test('a deleted computer disappears from lists, for its users, and for its machine', async () => {
  const { id, credential } = await pairedComputer(alice)
  await expose(id, ['exec'])
  const { db } = server.app.engine.postgres
  const machine = await findMachine(db, credential)
  assert.ok(machine)
  assert.deepEqual((await alice.delete(`/computers/${id}`)).body, { deleted: true, id })
  for (const person of [alice, bob]) {
    assert.equal((await person.get(`/computers/${id}`)).status, 404)
    assert.equal(ids(await person.get('/computers')).includes(id), false)
  }
  assert.equal(await findMachine(db, credential), null)
  assert.deepEqual(await findEndedLinks(db, [{ ...machine, epoch: 0 }]), [{ ...machine, replaced: false }])
})

test('deleting a workspace deletes its computers and exposures', async () => {
  const some = await teamOf(alice, [[bob, 'member']])
  const { id: own } = await pairedComputer(alice, { workspace_id: some })
  const { id: exposed } = await pairedComputer(alice)
  await expose(exposed, ['exec'], some)
  assert.equal((await alice.delete(`/workspaces/${some}?confirm=Team`)).status, 200)
  assert.equal((await alice.get(`/computers/${own}`)).status, 404)
  assert.deepEqual((await alice.get(`/computers/${exposed}`)).body.data.exposures, [])
})

test('everyone with access gets a computer’s events, and they are audited', async () => {
  const events = readEvents(bob, `/realtime/subscribe?channels=workspace:${team}`)
  const eventTypes: string[] = []
  assert.equal((await events.next()).value?.event, 'subscribed')
  const { id } = await pairedComputer(alice)
  await expose(id, ['exec'])
  await alice.patch(`/computers/${id}`, { name: 'Other' })
  await alice.delete(`/computers/${id}/exposures/${team}`)
  await alice.patch(`/computers/${id}`, { name: 'Unheard' })
  await expose(id, ['terminal'])
  await alice.delete(`/computers/${id}`)
  while (eventTypes.at(-1) !== 'computer.deleted') {
    const { value } = await events.next()
    if (value?.data?.resource?.id === id) eventTypes.push(value.data.type)
  }
  await events.return()
  assert.deepEqual(eventTypes, [
    'computer.exposed',
    'computer.updated',
    'computer.withdrawn',
    'computer.exposed',
    'computer.deleted',
  ])
  const { data } = (await alice.get(`/audit?subject_id=${id}`)).body
  const actions = data.map((entry: { action: string }) => entry.action)
  assert.deepEqual(actions.toReversed(), [
    'computer.paired',
    'computer.exposed',
    'computer.withdrawn',
    'computer.exposed',
    'computer.deleted',
  ])
})

test('pages of computers are stable, newest first', async () => {
  const erin = await server.person('Erin')
  const computerIds = []
  for (let i = 0; i < 5; i++) computerIds.push((await pairedComputer(erin, { name: `Box ${i}` })).id)
  const first = await erin.get('/computers?limit=2')
  const { next_cursor: cursor } = first.body.pagination
  const second = await erin.get(`/computers?limit=100&cursor=${cursor}`)
  assert.deepEqual([...ids(first), ...ids(second)], computerIds.toReversed())
  assert.deepEqual(code(await erin.get(`/computers?owner=me&cursor=${cursor}`)), [400, 'invalid_cursor'])
})

test('only users with access find a computer by name', async () => {
  const { id } = await pairedComputer(alice, { name: 'Weaverbird' })
  const find = async (person: Person, more = '') => {
    const answer = await person.get(`/search?q=weaverbird&types=computer${more}`)
    return answer.body.data.map((row: { id: string }) => row.id)
  }
  await until(
    () => find(alice),
    (results) => results.length === 1,
  )
  assert.deepEqual(await find(alice), [id])
  assert.deepEqual(await find(bob), [])
  await expose(id, ['exec'])
  assert.deepEqual(await find(bob), [id])
  assert.deepEqual(await find(vera, `&workspace_id=${team}`), [id])
  assert.deepEqual(await find(carol), [])
  await alice.delete(`/computers/${id}/exposures/${team}`)
  assert.deepEqual(await find(bob), [])
  await alice.delete(`/computers/${id}`)
  await until(
    () => find(alice),
    (results) => results.length === 0,
  )
})
